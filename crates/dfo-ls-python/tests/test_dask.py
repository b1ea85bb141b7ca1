"""Simulators on a Dask cluster: the same bits as in one process, also when parts of it die."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import dfo_ls
import numpy as np
import pytest

distributed = pytest.importorskip(
    "distributed", reason="distributed is not installed: simulators are not run on a Dask cluster"
)

EXAMPLES = Path(__file__).parents[1] / "examples"
sys.path.append(str(EXAMPLES))

import large_states  # noqa: E402
import on_workers  # noqa: E402
import simulator  # noqa: E402

#: The settings of the examples.
RUN: dict[str, Any] = {"inexact": True, "bounds": simulator.BOUNDS, "final_radius": 1e-6}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


def same(result: dfo_ls.Result, batch: int = 1) -> None:
    serial = dfo_ls.minimize(simulator.simulator, simulator.X0, batch=batch, **RUN)
    assert serial.success and serial.num_evaluations > 20
    assert result.x.tobytes() == serial.x.tobytes() and result.objective == serial.objective
    assert (result.num_evaluations, result.work) == (serial.num_evaluations, serial.work)


def script(name: str, folder: Path, *args: str) -> str:
    """Runs an example in ``folder`` and returns its output."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *args], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_example(tmp_path: Path) -> None:
    assert "success: True" in script("dask_cluster.py", tmp_path)
    same(dfo_ls.Engine.load(tmp_path / "plate.run").result(), batch=2)


def test_a_worker_that_dies_costs_its_task(client: Any, tmp_path: Path) -> None:
    mark = tmp_path / "died"
    result = dfo_ls.minimize(
        on_workers.dying,
        simulator.X0,
        args=(str(mark),),
        batch=2,
        executor=client.get_executor(),
        **RUN,
    )
    assert mark.exists()
    same(result, batch=2)


def test_a_simulator_that_kills_every_worker_is_named(client: Any) -> None:
    executor, scheduler = client.get_executor(), client.cluster.scheduler
    allowed, scheduler.allowed_failures = scheduler.allowed_failures, 0
    with pytest.raises(distributed.KilledWorker) as caught:
        dfo_ls.minimize(on_workers.always_dying, simulator.X0, batch=2, executor=executor, **RUN)
    scheduler.allowed_failures = allowed
    engine: dfo_ls.Engine = caught.value.engine  # type: ignore[attr-defined]
    same(engine.run(simulator.simulator, inexact=True, executor=executor), batch=2)


def test_a_module_that_workers_lack_is_reported(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(tmp_path, "only_here.py").write_text("def fun(x):\n    return x - 1.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    fun = importlib.import_module("only_here").fun
    with pytest.raises(ModuleNotFoundError, match="only_here"):
        dfo_ls.minimize(fun, [0.0], executor=client.get_executor())
    client.upload_file(str(tmp_path / "only_here.py"))
    assert dfo_ls.minimize(fun, [0.0], executor=client.get_executor()).x.round(6) == [1.0]


class Cluster:
    """A scheduler and a worker in processes of their own."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        where = os.pathsep.join([*sys.path, str(Path(__file__).parent)])
        address = ["--scheduler-file", str(self.file), "--no-dashboard"]
        self.scheduler, self.worker = (
            subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{name}", *address, *more],
                env=os.environ | {"PYTHONPATH": where},
                stderr=subprocess.DEVNULL,
                cwd=folder,
            )
            for name, more in [
                ("scheduler", ["--host", "127.0.0.1", "--port", "0"]),
                ("worker", ["--no-nanny", "--nthreads", "1", "--death-timeout", "120"]),
            ]
        )

    def close(self) -> None:
        for process in (self.worker, self.scheduler):
            process.kill()
            process.wait()


def test_a_scheduler_that_dies_leaves_a_run(client: Any, tmp_path: Path) -> None:
    def callback(_: dfo_ls.Iteration) -> None:
        nonlocal iterations
        iterations += 1
        if iterations == 5:
            cluster.scheduler.kill()

    iterations, cluster, path = 0, Cluster(tmp_path), tmp_path / "plate.run"
    fun, lost = simulator.simulator, "did its cluster or its scheduler end"
    try:
        other = distributed.Client(
            scheduler_file=str(cluster.file), timeout=120, set_as_default=False
        )
        other._timeout = 0.5  # seconds until it gives up connecting again
        executor = other.get_executor()
        arguments: dict[str, Any] = {"executor": executor, "callback": callback, "save": path}
        with pytest.raises(CancelledError, match=lost) as caught:
            dfo_ls.minimize(fun, simulator.X0, batch=2, **arguments, **RUN)
    finally:
        cluster.close()
    engine: dfo_ls.Engine = caught.value.engine  # type: ignore[attr-defined]
    # the client tries to connect again, and closes; on a busy machine it has closed already
    closed = "connect another client"
    with pytest.raises((CancelledError, ConnectionError), match=f"{lost}|{closed}"):
        engine.run(fun, inexact=True, executor=executor)
    while other.status not in ("closing", "closed"):
        time.sleep(0.05)
    with pytest.raises(ConnectionError, match=closed):
        engine.run(fun, inexact=True, executor=executor)
    for left in (engine, dfo_ls.Engine.load(path)):
        assert 5 < left.result().num_evaluations < 40
        same(left.run(fun, inexact=True, executor=client.get_executor()), batch=2)


def test_samples_at_the_same_point_are_all_evaluated(client: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"
    result = dfo_ls.minimize(
        on_workers.noisy,
        [0.0, 0.0],
        args=(str(log),),
        max_evaluations=12,
        options={"noise": {"samples": {"Fixed": 3}}},
        executor=client.get_executor(),
    )
    assert result.num_evaluations == len(log.read_text().splitlines()) == 12


def test_names_of_files_travel_instead_of_data(client: Any, tmp_path: Path) -> None:
    result = large_states.run(client, str(tmp_path))
    same(result)
    assert result.engine is not None
    states, files = result.engine.states, {path.name for path in tmp_path.iterdir()}
    assert states and set(states) <= files and len(files) < 20
    assert all(isinstance(state, str) and len(state) == 36 for state in states)
    assert np.load(tmp_path / states[0]).shape == (simulator.SIZE, simulator.SIZE)


def test_evaluations_that_wait_are_cancelled_when_time_is_over(client: Any) -> None:
    client.wait_for_workers(2)
    result = dfo_ls.minimize(
        on_workers.slow, np.zeros(20), max_time=1.0, executor=client.get_executor()
    )
    # in a second, each of the two workers evaluates at most five points, and one after it
    assert result.message.endswith("max_time") and 1 <= result.num_evaluations <= 12


def test_libensemble(tmp_path: Path) -> None:
    pytest.importorskip(
        "libensemble", reason="libensemble is not installed: its example is not run"
    )
    printed = script(
        "libensemble_generator.py", tmp_path, "--comms", "local", "--nworkers", "3"
    ).splitlines()
    serial = dfo_ls.minimize(simulator.simulator, simulator.X0, batch=2, **RUN)
    for row in (f"objective: {serial.objective}", f"nfev: {serial.num_evaluations}"):
        assert row in [line.strip() for line in printed]
