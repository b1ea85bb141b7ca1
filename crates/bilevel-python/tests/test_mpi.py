"""Learning with images that are spread over the ranks of a real MPI."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import bilevel
import pytest

SCRIPT = Path(__file__).with_name("ranks.py")
# Above this many seconds, ranks wait for each other forever.
PATIENCE = 600


def program() -> str | None:
    """The program that starts ranks: that of the environment, or any other."""
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.is_file() else shutil.which("mpiexec")


pytest.importorskip("mpi4py", reason="mpi4py is not installed")
if program() is None:
    pytest.skip("there is no mpiexec: pip install mpich", allow_module_level=True)


def start(
    count: int | None, command: str, folder: Path, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a command of `ranks.py` on `count` ranks, or in one process without MPI."""
    ranks = [] if count is None else [str(program()), "-n", str(count)]
    alone = ["alone"] if count is None else []
    call = [*ranks, sys.executable, str(SCRIPT), command, str(folder), *alone]
    return subprocess.run(
        call, capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, **more}
    )


def found(count: int | None, command: str, folder: Path) -> list[Any]:
    """What each rank has found."""
    folder.mkdir(exist_ok=True)
    done = start(count, command, folder)
    assert done.returncode == 0, done.stderr
    names = ["alone"] if count is None else [str(rank) for rank in range(count)]
    return [json.loads((folder / f"{name}.json").read_text()) for name in names]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What one process finds without a communicator."""
    return found(None, "same", tmp_path_factory.mktemp("alone"))[0]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_any_number_of_ranks_has_the_same_bits(count: int, alone: Any, tmp_path: Path) -> None:
    assert len(alone) == 17
    assert alone["failed"][0] == "RuntimeError"
    for rank in found(count, "same", tmp_path):
        assert rank == alone


@pytest.mark.parametrize("counts", [(3, None), (None, 2)])
def test_saved_runs_of_every_family_continue_on_other_ranks(
    counts: tuple[int | None, int | None], alone: Any, tmp_path: Path
) -> None:
    first, second = counts
    found(first, "stopped", tmp_path)
    for rank in found(second, "continued", tmp_path):
        assert len(rank) == 8
        assert rank == {name: alone[f"{name} pixel"] for name in rank}


def test_bytes_per_evaluation(tmp_path: Path) -> None:
    """An evaluation moves a few numbers per image, and rarely asks for more products."""
    count, num_images, d = 2, 5, 3
    for rank in found(count, "moved", tmp_path):
        for residuals, numbers in (("image", 2), ("pixel", 4 * d + 6)):
            steps, evaluations = rank[residuals]
            assert evaluations > 30
            most = 24 * count + 8 * numbers * num_images
            # one step evaluates up to d + 1 points
            rare = [step for step in steps if step > (d + 1) * most]
            assert len(rare) <= evaluations // 30
            assert sum(steps) - sum(rare) <= evaluations * most
            question = 8 * (4 * d + 3) * (4 * d + 4) * num_images
            assert all(step <= (d + 1) * most + question for step in rare)
        # with gradients, every step is one evaluation and one exchange
        for name, numbers in (("gradient", 8 + d), ("penalty", 8 + 2 * d)):
            steps, evaluations = rank[name]
            assert len(steps) >= 10 and len(steps) <= evaluations
            assert all(step <= 24 * count + 8 * numbers * num_images for step in steps), steps


def test_a_mistake_on_one_rank_ends_all(tmp_path: Path) -> None:
    ranks = found(3, "bad", tmp_path)
    odd = ranks[1]
    for name in ("setting", "kernel", "out", "limits"):
        for rank in ranks:
            assert rank[name] == odd[name]
            assert rank[name][0] == "ValueError"
            assert "of rank 1 differ from those of rank 0" in rank[name][1]
    for name, words in {
        "kinds": "rank 1 has pictures, but rank 0 has signals",
        "frequencies": "rank 1 has 20 frequencies, but rank 0 has 24",
        "empty": "truth is empty on all ranks: they hold no images",
    }.items():
        assert all(rank[name] == ["ValueError", words] for rank in ranks), name
    for name, kind, words in (
        ("infinity", "ValueError", "data[0] is inf"),
        ("argument", "ValueError", "fixed['rho'] is not a parameter"),
        ("objective", "ValueError", "objective is 3"),
        ("not callable", "TypeError", "callback must be a function"),
    ):
        assert odd[name][0] == kind
        assert odd[name][1].startswith(words)
        for rank in (ranks[0], ranks[2]):
            assert rank[name] == [kind, f"rank 1: {odd[name][1]}"]
    assert odd["callback"] == ["LookupError", "no such thing"]
    for rank in (ranks[0], ranks[2]):
        assert rank["callback"] == ["RuntimeError", "rank 1: LookupError: no such thing"]
    assert odd["gradient"] == ["LookupError", "no gradient"]
    for rank in (ranks[0], ranks[2]):
        assert rank["gradient"] == ["RuntimeError", "rank 1: LookupError: no gradient"]
    for rank in ranks:
        assert "comm cannot be used with a model that is a function" in rank["function"][1]
        assert rank["exists"][0] == "FileExistsError" or rank["exists"][1].startswith("rank 0: ")
        assert "already holds a run" in rank["exists"][1]
        assert rank["resume"][0] == "FileNotFoundError"
        assert "could not be saved beyond evaluation" in rank["full"][1]


def test_a_run_that_could_not_be_saved_on_one_rank_goes_on(tmp_path: Path) -> None:
    found(2, "bad", tmp_path)
    (tmp_path / "hidden").rename(tmp_path / "full" / "states")
    assert bilevel.resume(tmp_path / "full").num_points == 6


def test_a_signal_on_one_rank_ends_all(tmp_path: Path) -> None:
    ranks = found(3, "signalled", tmp_path)
    assert all(rank == ranks[0] for rank in ranks)
    for name in ("SIGINT", "SIGTERM"):
        points, termination, _, warnings = ranks[0][name]
        assert (points, termination) == (4, "interrupted")
        assert warnings == ["interrupted after 4 points: this is the best result so far"]
    assert ranks[0]["step"][0] > 4


def test_example(tmp_path: Path) -> None:
    example = SCRIPT.parents[1] / "examples" / "mpi_images.py"
    texts = []
    for count in (2, 3):
        call = [str(program()), "-n", str(count), sys.executable, "-m", "mpi4py", str(example)]
        done = subprocess.run(
            call, capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path, check=True
        )
        texts.append(done.stdout)
    assert texts[0] == texts[1]
    assert "learned from 8 pictures of 16 × 16" in texts[0]


def test_a_rank_that_is_killed(tmp_path: Path) -> None:
    """The job is started again on other numbers of ranks, and ends with the same bits."""
    plain = tmp_path / "plain"
    expected = found(None, "killed", plain)[0]
    folder = tmp_path / "killed"
    folder.mkdir()
    chance = random.Random()
    moments = []
    for count, points in ((3, 1), (2, 4), (4, 7)):
        moments.append((points + chance.randrange(3), 0.01 * chance.random()))
        done = start(count, "killed", folder, KILL=json.dumps(moments[-1]))
        assert done.returncode != 0, moments
        assert not (folder / "run" / "result.json").exists(), moments
    copies = [tmp_path / "one", tmp_path / "program"]
    for copy in copies:
        shutil.copytree(folder, copy)
    assert found(2, "killed", folder) == [expected] * 2, moments
    # one process continues the run of several ranks as well, and so does the program
    assert found(None, "killed", copies[0]) == [expected], moments
    call = [sys.executable, "-m", "bilevel", "resume", str(copies[1] / "run")]
    subprocess.run(call, capture_output=True, timeout=PATIENCE, check=True)
    places = (plain, folder, *copies)
    results = [(place / "run" / "result.json").read_text() for place in places]
    assert len(set(results)) == 1, moments
    # the run has ended: it is not computed again
    assert found(3, "killed", folder) == [expected] * 3
