"""What the tests of `comm` run on each rank: `mpiexec -n 3 python ranks.py COMMAND FOLDER`.

Each rank writes what it found to a file of its own in the folder. With `alone`, one process with
all images and without a communicator does the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bilevel
import numpy as np

POINTS = 6
NUM_IMAGES = 5


def share(images: Any, comm: Any) -> Any:
    """The images of a rank."""
    if comm is None:
        return images
    count, rank, size = len(images), comm.Get_rank(), comm.Get_size()
    return images[count * rank // size : count * (rank + 1) // size]


def signals(count: int = NUM_IMAGES) -> tuple[Any, Any]:
    """Signals to denoise."""
    truth = bilevel.phantoms.box_functions(count, 24)
    return truth, bilevel.add_noise(truth, 0.1)


def weights(fails: Callable[[], bool] = lambda: False) -> bilevel.StronglyConvex:
    """A model with a weight for each sample; its gradient may fail."""

    def gradient(theta: Any, y: Any, x: Any) -> Any:
        if fails():
            raise LookupError("no gradient")
        return x - y + 10.0**theta * x

    return bilevel.StronglyConvex(
        gradient,
        lambda theta, y: (1.0, 1.0 + float((10.0**theta).max())),
        lambda theta, y, x, v: v + 10.0**theta * v,
        lambda theta, y, x, q: np.log(10.0) * 10.0**theta * x * q,
        third_derivative=0.0,
    )


def one_thread(more: dict[str, Any]) -> dict[str, Any]:
    """Arguments with a single thread; functions in Python have no others."""
    return more if "start" in more else {"threads": 1, **more}


def problems() -> Iterator[tuple[str, Any, Any, dict[str, Any]]]:
    """The name, the images and the arguments of a problem of every family."""
    truth, data = signals()
    yield "signals", truth, data, {}
    yield "few", *signals(2), {"penalty": {"condition": 1e-6}}
    pictures = bilevel.phantoms.dead_leaves(NUM_IMAGES, (9, 8))
    noisy = bilevel.add_noise(pictures, 0.1)
    yield "pictures", pictures, noisy, {"learn": ("alpha",), "image_range": (0, 1)}
    sizes = [picture[: 5 + i] for i, picture in enumerate(pictures)]
    yield "sizes", sizes, [y[: 5 + i] for i, y in enumerate(noisy)], {"learn": ("alpha",)}
    kernel = np.array([[0.2, 0.6, 0.2]])
    yield "deblur", pictures, noisy, {"model": "deblur", "kernel": kernel, "learn": ("alpha",)}
    mask = np.arange(72).reshape(9, 8) % 3 > 0
    yield "inpaint", pictures, noisy, {"model": "inpaint", "mask": mask, "learn": ("alpha", "nu")}
    lines = np.ascontiguousarray(truth[:, ::4])
    spectra = bilevel.add_noise(np.fft.fft(lines, norm="ortho"), 0.05)
    ranges = {"start": np.zeros(24), "bounds": (-2.0, 2.0)}
    yield "functions", truth, data, {"model": weights(), **ranges}
    yield "sampling", lines, spectra, {"model": "sampling", "penalty": {"l1": 1e-3}}


def digest(result: bilevel.Result) -> str:
    """A hash of all numbers of a result, of its scores and of its words."""
    assert result.f_error < float("inf")
    text = json.dumps([result._learned, repr(result), result.message], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def outcome(call: Callable[[], Any]) -> list[str]:
    """The exception of a call: its kind and its message."""
    try:
        call()
    except Exception as error:
        return [type(error).__name__, str(error)]
    return ["", "no exception"]


def same(comm: Any, folder: Path) -> Any:
    """Learn with every family, in both layouts of residuals, and with an image that fails."""
    truth, data = signals()
    data[3] *= 1e200
    failed = outcome(lambda: bilevel.learn(share(truth, comm), share(data, comm), comm=comm))
    found: dict[str, Any] = {"failed": failed}
    for name, truth, data, more in problems():
        for residuals in ("image", "pixel"):
            arguments = one_thread({"max_points": POINTS, "residuals": residuals, **more})
            half = len(truth) // 2
            held_out = share(truth[:half], comm), share(data[:half], comm)
            result = bilevel.learn(
                share(truth, comm), share(data, comm), validation=held_out, comm=comm, **arguments
            )
            found[f"{name} {residuals}"] = digest(result)
    return found


def stopped(comm: Any, folder: Path) -> Any:
    """Save a run of every family, and end it early."""
    for name, truth, data, more in problems():
        half = len(truth) // 2
        bilevel.learn(
            share(truth, comm),
            share(data, comm),
            validation=(share(truth[:half], comm), share(data[:half], comm)),
            max_points=POINTS,
            out=folder / name,
            callback=lambda run: run.num_points >= 3,
            comm=comm,
            **one_thread(more),
        )


def continued(comm: Any, folder: Path) -> Any:
    """Resume the runs of `stopped`."""
    found = {}
    for name, truth, data, more in problems():
        again: dict[str, Any] = {}
        if name == "functions":
            half = len(truth) // 2
            again = {
                "model": more["model"],
                "truth": share(truth, comm),
                "data": share(data, comm),
                "validation": (share(truth[:half], comm), share(data[:half], comm)),
            }
        found[name] = digest(bilevel.resume(folder / name, comm=comm, **again))
    return found


def moved(comm: Any, folder: Path) -> Any:
    """Count the bytes of each step, and all evaluations."""
    truth, data = signals()
    found = {}
    without = {"solver": "derivative-free"}
    for name, more in {
        "image": {"residuals": "image", **without},
        "pixel": {"residuals": "pixel", **without},
        "gradient": {"solver": "gradient"},
        "penalty": {"solver": "gradient", "penalty": {"condition": 1e-6}},
    }.items():
        arguments: dict[str, Any] = {"threads": 1, "comm": comm, **more}
        run = bilevel.Run(share(truth, comm), share(data, comm), **arguments)
        counts = [run.num_bytes]
        while run.step():
            counts.append(run.num_bytes)
        steps = np.diff(counts).tolist()
        found[name] = [steps, len(run.result()._learned["evaluations"])]
    return found


def bad(comm: Any, folder: Path) -> Any:
    """Call `learn` with arguments that are wrong on rank 1, or differ there."""
    truth, data = signals()
    pictures = bilevel.phantoms.dead_leaves(1, (9, 8))
    own, noisy = share(truth, comm), share(data, comm)
    rank = comm.Get_rank()
    is_odd = rank == 1

    def call(x: Any = own, y: Any = noisy, **more: Any) -> list[str]:
        return outcome(lambda: bilevel.learn(x, y, max_points=6, comm=comm, **more))

    def fails(run: bilevel.Run) -> bool:
        if is_odd and run.num_points > 2:
            raise LookupError("no such thing")
        return False

    with_infinity = noisy.copy()
    with_infinity[0, 0] = np.inf
    kernel = np.array([0.2, 0.6, 0.2 + 1e-9 * is_odd])
    spectra = np.fft.fft(own, norm="ortho")
    cut = 20 if is_odd else 24
    states = folder / "full" / "states"

    def hides(run: bilevel.Run) -> bool:
        # without their directory, blobs of the next save cannot be written
        if is_odd and states.is_dir():
            states.rename(folder / "hidden")
        return False

    calls: list[int] = []

    def fails_late() -> bool:
        calls.append(0)
        return is_odd and len(calls) > 40

    ranges = {"start": np.zeros(24), "bounds": (-2.0, 2.0)}
    return {
        "gradient": call(model=weights(fails_late), **ranges),
        "setting": call(seed=7 if is_odd else 0),
        "kernel": call(model="deblur", kernel=kernel),
        "out": call(out=folder / "one" if is_odd else None),
        "infinity": call(y=with_infinity if is_odd else noisy),
        "argument": call(fixed={"rho": 1} if is_odd else None),
        "objective": call(objective=3 if is_odd else "mean"),
        "kinds": call(pictures, pictures) if is_odd else call(),
        "frequencies": call(own[:, :cut], spectra[:, :cut], model="sampling"),
        "empty": call([], []),
        "function": call(model=lambda *_: None),
        "callback": call(callback=fails),
        "not callable": call(callback=3 if is_odd else None),
        "full": call(out=folder / "full", callback=hides),
        "exists": call(out=folder / "full"),
        "resume": outcome(lambda: bilevel.resume(folder, comm=comm)),
        "limits": outcome(lambda: bilevel.resume(folder / "full", 9 + is_odd, comm=comm)),
    }


def signalled(comm: Any, folder: Path) -> Any:
    """Send signals to the last rank while it learns."""
    truth, data = share(signals()[0], comm), share(signals()[1], comm)
    is_last = comm.Get_rank() == comm.Get_size() - 1
    found: dict[str, Any] = {}
    for number in (signal.SIGINT, signal.SIGTERM):

        def send(run: bilevel.Run, number: int = number) -> None:
            if is_last and run.num_points == 4:
                os.kill(os.getpid(), number)

        before = signal.getsignal(number)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = bilevel.learn(truth, data, threads=1, comm=comm, callback=send)
        assert signal.getsignal(number) is before
        texts = [str(warning.message) for warning in caught]
        found[number.name] = [result.num_points, result.termination, digest(result), texts]
    run = bilevel.Run(truth, data, threads=1, comm=comm)
    gather = run._ranks.gather

    def send_and_gather(own: Any) -> Any:
        run._ranks.gather = gather  # type: ignore[method-assign]
        os.kill(os.getpid(), signal.SIGTERM)
        return gather(own)

    try:
        while run.step():
            if is_last and run.num_points == 4:
                # the signal comes while the next points are evaluated
                run._ranks.gather = send_and_gather  # type: ignore[method-assign]
    except KeyboardInterrupt:
        found["step"] = [run.num_points, digest(run.result())]
    return found


def killed(comm: Any, folder: Path) -> Any:
    """Learn or resume in a directory. The last rank kills itself if the environment says when."""
    out = folder / "run"
    plan = os.environ.get("KILL")

    def watch(run: bilevel.Run) -> None:
        if plan is None or comm.Get_rank() < comm.Get_size() - 1:
            return
        points, delay = json.loads(plan)
        if run.num_points >= points:
            threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()
        # a fast machine could reach the end before
        if run.num_points >= points + 3:
            os.kill(os.getpid(), signal.SIGKILL)

    if (out / "bilevel.toml").is_file():
        return digest(bilevel.resume(out, callback=watch, comm=comm))
    truth, data = signals()
    half = slice(0, 2)
    held_out = share(truth[half], comm), share(data[half], comm)
    result = bilevel.learn(
        share(truth, comm),
        share(data, comm),
        validation=held_out,
        max_points=30,
        threads=1,
        out=out,
        callback=watch,
        comm=comm,
    )
    return digest(result)


def main() -> None:
    command, where = sys.argv[1], Path(sys.argv[2])
    commands = (same, stopped, continued, moved, bad, signalled, killed)
    chosen = next(found for found in commands if found.__name__ == command)
    if sys.argv[3:] == ["alone"]:
        comm, name = None, "alone"
    else:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
        name = str(comm.Get_rank())
    found = chosen(comm, where)
    (where / f"{name}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
