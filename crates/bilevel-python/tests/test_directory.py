"""Runs in directories: saved, killed, continued and loaded, by Python and by the program."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import bilevel
import numpy as np
import pytest

PROGRAM = os.environ.get("BILEVEL_PROGRAM", "")
with_program = pytest.mark.skipif(
    not Path(PROGRAM).is_file(), reason="BILEVEL_PROGRAM is not set to the program"
)


def pictures(n: int = 3, shape: tuple[int, int] = (12, 10)) -> tuple[Any, Any]:
    truth = bilevel.phantoms.dead_leaves(n, shape, seed=1)
    return truth, bilevel.add_noise(truth, 0.1, seed=1)


def signals() -> tuple[Any, Any]:
    truth = bilevel.phantoms.box_functions(3, 24, seed=1)
    return truth, bilevel.add_noise(truth, 0.1, seed=1)


def k_space() -> tuple[Any, Any]:
    truth = bilevel.phantoms.box_functions(3, 8, seed=1)
    return truth, bilevel.add_noise(np.fft.fft(truth, norm="ortho"), 0.05, seed=1)


def mixed() -> tuple[Any, Any]:
    truth, data = pictures()
    return [truth[0], truth[1][:7], truth[2][:, :6]], [data[0], data[1][:7], data[2][:, :6]]


MASK = np.arange(120).reshape(12, 10) % 4 > 0
# Images, and the other arguments of `learn`.
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "pictures": (pictures, {"objective": "sum", "penalty": {"condition": 1e-6}}),
    "signals": (signals, {"fixed": {"xi": 1e-3}, "seed": 7, "threads": 1}),
    "mixed": (mixed, {"learn": ("alpha",), "image_range": (0, 1), "residuals": "image"}),
    "blurred pictures": (pictures, {"model": "deblur", "kernel": np.full((3, 3), 1 / 9)}),
    "blurred signals": (signals, {"model": "deblur", "kernel": [0.25, 0.5, 0.25]}),
    "masked pictures": (pictures, {"model": "inpaint", "mask": MASK, "accuracy": 40}),
    "masked signals": (signals, {"model": "inpaint", "mask": np.arange(24) % 3 > 0}),
    "sampling": (k_space, {"model": "sampling", "penalty": {"l1": 0.02}, "method": "fista"}),
}


def arguments(case: str, max_points: int = 24) -> dict[str, Any]:
    make, options = CASES[case]
    truth, data = make()
    return {
        "truth": truth[:2],
        "data": data[:2],
        "validation": (truth[2:], data[2:]),
        "max_points": max_points,
        **options,
    }


def program(*args: Any) -> str:
    done = subprocess.run([PROGRAM, *map(str, args)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return done.stdout


def same(first: bilevel.Result, second: bilevel.Result) -> None:
    assert first._learned == second._learned
    assert first.theta.tobytes() == second.theta.tobytes() and first.warnings == second.warnings


@pytest.mark.filterwarnings("ignore:the blur is modelled as periodic")
@pytest.mark.parametrize("case", CASES)
class TestEveryFamily:
    def test_saving_changes_no_bit(self, case: str, tmp_path: Path) -> None:
        given = arguments(case)
        result = bilevel.learn(**given, out=tmp_path / "run")
        same(result, bilevel.learn(**given))
        files = {path.name for path in (tmp_path / "run").iterdir()}
        assert {"bilevel.toml", "result.json", "report.html", "history.jsonl", "arrays"} <= files
        loaded = bilevel.load(tmp_path / "run")
        same(loaded, result)
        assert np.array_equal(loaded.apply(given["data"][0]), result.apply(given["data"][0]))
        assert loaded._about["family"] == result._about["family"]

    @pytest.mark.parametrize("steps", [1, 2, 9])
    def test_a_run_that_is_left_continues(self, case: str, steps: int, tmp_path: Path) -> None:
        given, out = arguments(case), tmp_path / "run"
        run = bilevel.Run(**given, out=out)
        for _ in range(steps):
            run.step()
        left = run.result()
        assert left._learned["num_points"] == run.num_points < 24
        so_far = bilevel.load(out)
        same(so_far, bilevel.load(str(out)))
        assert so_far.f == left.f and so_far.theta.tobytes() == left.theta.tobytes()
        assert so_far.termination == "interrupted" and not so_far.converged
        assert so_far.scores.equals(left.scores)
        # wherever it is moved
        moved = tmp_path / "elsewhere" / "run"
        shutil.move(out, moved)
        same(bilevel.resume(moved), bilevel.learn(**given))
        same(bilevel.resume(moved), bilevel.load(moved))

    @with_program
    def test_the_program_continues_reports_and_applies(self, case: str, tmp_path: Path) -> None:
        given, out = arguments(case), tmp_path / "run"
        run = bilevel.Run(**given, out=out)
        for _ in range(4):
            run.step()
        del run
        program("resume", out, "--quiet")
        result = bilevel.learn(**given)
        same(bilevel.load(out), result)
        (out / "report.html").unlink()
        program("report", out)
        y = given["data"][0]
        np.save(tmp_path / "y.npy", np.atleast_2d(y) if case == "sampling" else y)
        if case.startswith("masked"):
            y = np.where(given["mask"], y, 0.0)
        program("apply", out, tmp_path / "y.npy", tmp_path / "x.npy")
        made = np.load(tmp_path / "x.npy")
        assert np.allclose(made.reshape(y.shape), result.apply(y), atol=1e-12)
        # and back
        same(bilevel.resume(out), result)


@with_program
@pytest.mark.parametrize(
    "task",
    [
        "denoise --size 16",
        "sampling --size 8",
        "deblur --size 16 --kernel kernel.npy --learn alpha,nu,xi",
    ],
)
def test_runs_of_the_program_are_loaded_and_continued(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("kernel.npy", np.full((3, 3), 1 / 9))
    args = [*task.split(), "--count", "3", "--hold-out", "1", "--quiet", "--out"]
    program("learn", "--max-points", 10, *args, "run")
    shutil.copytree("run", "copy")
    first = bilevel.load("run")
    assert first.termination == "exhausted" and first.num_points == 10
    assert first._learned["training"] and first._learned["validation"]
    assert "the limit of 10 points is reached" in repr(first)
    continued = bilevel.resume("run", max_points=40)
    program("resume", "copy", "--max-points", 40, "--quiet")
    assert Path("copy/result.json").read_text() == Path("run/result.json").read_text()
    assert json.loads(Path("run/result.json").read_text())["num_points"] == continued.num_points
    if task.startswith("denoise"):
        y = np.random.default_rng(1).random((9, 8))
        assert continued.apply(y).shape == (9, 8)
        program("apply", "run", save(tmp_path / "y.npy", y), "x.npy")
        assert np.array_equal(np.load("x.npy"), continued(y))


def save(path: Path, array: Any) -> Path:
    np.save(path, array)
    return path


#: Learns, and waits for a signal at the point 40 at the latest.
SCRIPT = """
import sys, time, bilevel
def wait(run):
    if run.num_points >= 40:
        time.sleep(600)
truth = bilevel.phantoms.dead_leaves(4, (48, 48), seed=1)
data = bilevel.add_noise(truth, 0.1, seed=1)
bilevel.learn(truth, data, max_points=60, out=sys.argv[1], progress=False, callback=wait)
"""


def evaluations(out: Path) -> int:
    try:
        lines = (out / "history.jsonl").read_text().splitlines()
    except FileNotFoundError:
        return 0
    return sum(line.startswith('{"evaluation"') for line in lines)


@pytest.mark.parametrize("ending", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_a_killed_run_loses_nothing(ending: str, tmp_path: Path) -> None:
    if not hasattr(signal, ending):
        pytest.skip(f"{ending} is not known here")
    truth = bilevel.phantoms.dead_leaves(4, (48, 48), seed=1)
    whole = bilevel.learn(truth, bilevel.add_noise(truth, 0.1, seed=1), max_points=60)
    out = tmp_path / "run"
    # the shell's `&` would have SIGINT ignored
    script = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n" + SCRIPT
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(out)], stderr=subprocess.PIPE, text=True
    )
    for least in (3, 8):
        while evaluations(out) < least and child.poll() is None:
            time.sleep(0.002)
    child.send_signal(getattr(signal, ending))
    _, errors = child.communicate(timeout=60)
    assert child.returncode == (0 if ending == "SIGINT" else -getattr(signal, ending)), errors
    if ending == "SIGINT":
        assert f"bilevel.resume({str(out)!r}) continues the run" in errors
    assert not (out / "result.json").exists()
    so_far = bilevel.load(out)
    # lines that belong to an unfinished save are gone
    assert len(so_far.history) == evaluations(out) >= 3
    assert so_far.termination == "interrupted"
    same(bilevel.resume(out), whole)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_returns_the_best_result_and_keeps_the_run(tmp_path: Path) -> None:
    truth, data = pictures()

    def callback(run: bilevel.Run) -> None:
        if run.num_points >= 6:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(RuntimeWarning, match=r"bilevel.resume\('.*run'\) continues the run"):
        left = bilevel.learn(truth, data, callback=callback, out=tmp_path / "run")
    assert left.termination == "interrupted"
    same(bilevel.resume(tmp_path / "run"), bilevel.learn(truth, data))
    with pytest.warns(RuntimeWarning, match="interrupted after 6"):
        bilevel.learn(truth, data, callback=callback)


def test_an_exception_closes_the_directory(tmp_path: Path) -> None:
    truth, data = pictures()

    def callback(run: bilevel.Run) -> None:
        if run.num_points >= 5:
            raise LookupError("in the callback")

    with pytest.raises(LookupError) as caught:
        bilevel.learn(truth, data, callback=callback, out=tmp_path / "run")
    run = getattr(caught.value, "run")
    same(bilevel.resume(tmp_path / "run"), bilevel.learn(truth, data))
    assert run.result().num_points == 5 and np.isfinite(run.result().f)
    if sys.version_info >= (3, 11):
        assert "continues the run" in caught.value.__notes__[0]


def test_a_run_belongs_to_one_process_at_a_time(tmp_path: Path) -> None:
    truth, data = pictures()
    run = bilevel.Run(truth, data, out=tmp_path / "run")
    run.step()
    for attempt in (bilevel.resume, bilevel.load, bilevel.Run.resume):
        with pytest.raises(RuntimeError, match="another process is working on the run"):
            attempt(tmp_path / "run")
    run.result()
    assert bilevel.load(tmp_path / "run").num_points == run.num_points


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    truth, data = pictures()
    bilevel.learn(truth, data, max_points=2, out=tmp_path / "run")
    with pytest.raises(FileExistsError, match=r"already holds a run: .* bilevel.resume\(\".*run"):
        bilevel.learn(truth, data, out=tmp_path / "run")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="is not empty: choose another one for out"):
        bilevel.learn(truth, data, out=tmp_path / "full")
    (tmp_path / "empty").mkdir()
    assert bilevel.learn(truth, data, max_points=2, out=tmp_path / "empty").num_points == 2


def test_bad_arguments_leave_nothing_behind(tmp_path: Path) -> None:
    truth, data = pictures()
    changes: list[dict[str, Any]] = [
        {"max_points": 0},
        {"data": data * np.nan},
        {"fixed": {"nu": 1e-200}},
        {"model": "deblur", "kernel": np.ones((30, 30))},
    ]
    for change in changes:
        with pytest.raises(ValueError):
            bilevel.learn(**{"truth": truth, "data": data, "out": tmp_path / "run", **change})
    with pytest.raises(ValueError, match="out cannot be used with a model that is a function"):
        bilevel.learn(
            truth, None, model=lambda *_: None, start=[1.0], bounds=[(0, 2)], out=tmp_path / "run"
        )
    assert not (tmp_path / "run").exists()


def test_places_without_a_run(tmp_path: Path) -> None:
    for attempt in (bilevel.resume, bilevel.load):
        with pytest.raises(FileNotFoundError, match="is not the directory of a run|No such file"):
            attempt(tmp_path)
        with pytest.raises(FileNotFoundError):
            attempt(tmp_path / "missing")
    truth, data = pictures()
    del_me = bilevel.Run(truth, data, out=tmp_path / "run")
    del del_me
    with pytest.raises(RuntimeError, match=r"nothing has been evaluated in .*run: bilevel.resume"):
        bilevel.load(tmp_path / "run")
    same(bilevel.resume(tmp_path / "run"), bilevel.learn(truth, data))


def test_changed_images_and_damaged_files_are_found(tmp_path: Path) -> None:
    truth, data = pictures()
    bilevel.learn(truth, data, out=tmp_path / "run", callback=lambda run: run.num_points > 5)
    image = tmp_path / "run" / "arrays" / "images" / "000001.npy"
    original = image.read_bytes()
    np.save(image, truth[0] + 1e-3)
    with pytest.raises(RuntimeError, match="images have changed since the run"):
        bilevel.resume(tmp_path / "run")
    image.write_bytes(original)
    engine = tmp_path / "run" / "engine.bin"
    engine.write_bytes(engine.read_bytes()[:-8])
    with pytest.raises(RuntimeError, match="damaged"):
        bilevel.resume(tmp_path / "run")


def test_a_limit_counts_all_points(tmp_path: Path) -> None:
    truth, data = pictures()
    bilevel.learn(truth, data, max_points=6, out=tmp_path / "run")
    with pytest.raises(ValueError, match="a limit of 6 points is too low, .* at least 7"):
        bilevel.resume(tmp_path / "run", max_points=6)
    assert bilevel.resume(tmp_path / "run", max_points=8).num_points == 8
    assert "max_points = 8" in (tmp_path / "run/bilevel.toml").read_text()


def test_a_converged_run_needs_no_more_points(tmp_path: Path) -> None:
    truth, data = pictures()
    result = bilevel.learn(truth, data, learn=("alpha",), out=tmp_path / "run")
    assert result.converged
    with pytest.warns(UserWarning, match="more points would change nothing"):
        same(bilevel.resume(tmp_path / "run", max_points=1000), result)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(bilevel.resume(tmp_path / "run"), result)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_points": 0}, "max_points is 0"),
        ({"threads": -1}, "threads is -1"),
        ({"callback": 3}, "callback must be a function"),
    ],
)
def test_bad_arguments_of_resume(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        bilevel.resume(tmp_path, **change)


def test_steps_of_a_run_that_is_continued(tmp_path: Path) -> None:
    truth, data = pictures()
    run = bilevel.Run(truth, data, out=tmp_path / "run")
    for _ in range(6):
        run.step()
    run._detach()
    again = bilevel.Run.resume(tmp_path / "run", threads=1)
    assert (again.num_points, again.f, again.params) == (run.num_points, run.f, run.params)
    while again.step():
        pass
    same(again.result(), bilevel.learn(truth, data))
