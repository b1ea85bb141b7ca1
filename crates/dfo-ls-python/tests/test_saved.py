"""Runs that are saved while they run, and continued after the process was killed."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dfo_ls
import numpy as np
import pytest

X0 = np.linspace(-1.0, 1.0, 6)


class Counting:
    """A function that counts its evaluations, and ends the process at one of them."""

    def __init__(self, last: int | None = None) -> None:
        self.last = last
        self.seen: list[bytes] = []

    def __call__(self, x: np.ndarray) -> np.ndarray:
        if len(self.seen) == self.last:
            os._exit(3)
        self.seen.append(x.tobytes())
        return np.concatenate([x - 0.5, 0.3 * x[1:] * x[:-1]])

    def inexact(self, x: np.ndarray, accuracy: float, state: Any) -> Any:
        return self(x), 0.0, len(self.seen), 1


def run(path: str, last: int) -> None:
    """Begins a run that ends its own process."""
    dfo_ls.minimize(Counting(last).inexact, X0, inexact=True, max_points=30, save=path)


# within the first batch, at its end, and later
@pytest.mark.parametrize("last", [1, 4, 7, 20])
def test_a_killed_process_repeats_no_evaluation(last: int, tmp_path: Path) -> None:
    path = tmp_path / "fit.run"
    code = f"import test_saved; test_saved.run({str(path)!r}, {last})"
    where = os.pathsep.join([*sys.path, str(Path(__file__).parent)])
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": where})
    assert done.returncode == 3 and os.listdir(tmp_path) == ["fit.run"]
    engine, rest, whole = dfo_ls.Engine.load(path), Counting(), Counting()
    result = engine.run(rest.inexact, inexact=True, save=path)
    serial = dfo_ls.minimize(whole.inexact, X0, inexact=True, max_points=30)
    assert result.x.tobytes() == serial.x.tobytes() and result.objective == serial.objective
    assert rest.seen == whole.seen[last:] and result.num_evaluations == len(whole.seen)
    again = dfo_ls.Engine.load(path)
    assert again.termination == "exhausted" and again.result().objective == serial.objective


def test_the_callback_sees_the_answers_of_a_saved_run(tmp_path: Path) -> None:
    path, states = tmp_path / "fit.run", []

    def save_once(x: np.ndarray) -> np.ndarray:
        if len(counting.seen) == 7:
            states.append(path.read_bytes())
        return counting(x)

    counting, seen = Counting(), []
    result = dfo_ls.minimize(save_once, X0, max_points=12, save=path)
    path.write_bytes(states[0])
    dfo_ls.Engine.load(path).run(counting, callback=seen.append)
    assert [row.objective for row in seen] == [row.objective for row in result.iterations]


def test_a_file_that_cannot_be_written_is_reported_before_the_first_evaluation(
    tmp_path: Path,
) -> None:
    counting = Counting()
    with pytest.raises(FileNotFoundError, match="there is no folder .*missing: create it"):
        dfo_ls.minimize(counting, X0, save=tmp_path / "missing" / "fit.run")
    with pytest.raises(TypeError, match="cannot be saved to .*projections"):
        dfo_ls.minimize(counting, X0, projections=[lambda x: x], save=tmp_path / "fit.run")
    with pytest.raises(TypeError):
        dfo_ls.minimize(counting, X0, save=3)  # type: ignore[arg-type]
    assert not counting.seen and not list(tmp_path.iterdir())


@pytest.mark.parametrize("workers", [0, 2])
def test_a_full_disk_loses_nothing(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        if len(counting.seen) >= 9:
            raise OSError(28, "No space left on device")
        replace(*_)

    counting, replace = Counting(), os.replace
    monkeypatch.setattr(os, "replace", full)
    with ThreadPoolExecutor(max(workers, 1)) as pool:
        with pytest.raises(OSError, match="No space left") as caught:
            dfo_ls.minimize(
                counting,
                X0,
                max_points=30,
                save=tmp_path / "fit.run",
                executor=pool if workers else None,
            )
    monkeypatch.undo()
    engine: dfo_ls.Engine = caught.value.engine  # type: ignore[attr-defined]
    assert engine.result().num_evaluations == len(counting.seen)
    result = engine.run(counting)
    assert len(set(counting.seen)) == len(counting.seen) == result.num_evaluations == 30


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "cannot be read"), (b"text", "cannot be read"), (pickle.dumps({}), "has a dict")],
)
def test_other_files_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "fit.run"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"fit.run {message}"):
        dfo_ls.Engine.load(path)
    with pytest.raises(FileNotFoundError):
        dfo_ls.Engine.load(tmp_path / "other")


def test_states_are_those_of_later_jobs() -> None:
    engine = dfo_ls.Engine(X0, 11)
    seen: set[int] = set()
    while jobs := engine.ask():
        seen.update(job.state for job in jobs if job.state is not None)
        assert {state for job in jobs for _, state in job.shares} <= set(engine.states)
        for job in jobs:
            job.answer(Counting()(job.x), state=len(seen) + 1000 * len(engine.states))
        engine.tell()
    assert seen and len(engine.states) < engine.result().num_evaluations
