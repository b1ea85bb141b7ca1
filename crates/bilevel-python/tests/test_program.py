"""The program `bilevel`, as the package installs it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import bilevel
import pytest

PYTHON = [sys.executable, "-m", "bilevel"]
# Tests may run with SIGINT ignored, which a program started by them would inherit.
RESET = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "


def run(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PYTHON, *args], capture_output=True, text=True, check=False)


def test_it_is_the_program() -> None:
    assert run("--version").stdout == f"bilevel {bilevel.__version__}\n"
    shown = run("--help")
    assert shown.returncode == 0 and "Usage: bilevel" in shown.stdout and not shown.stderr


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["learn", "denoise", "--frobnicate"], 2, "--frobnicate"),
        (["report", "no-such-run"], 4, "is not the directory of a run"),
        ([], 2, "Usage: bilevel"),
    ],
)
def test_its_exit_codes(args: list[str], code: int, message: str) -> None:
    ended = run(*args)
    assert ended.returncode == code and message in ended.stderr


def test_it_learns_and_python_reads_the_result(tmp_path: Path) -> None:
    out = tmp_path / "run"
    small = ["--size", "16", "--count", "3", "--hold-out", "1", "--max-points", "8"]
    ended = run("learn", "denoise", *small, "--out", str(out))
    assert ended.returncode == 0 and "report.html" in ended.stdout, ended
    # commands to go on with name the program, and not the interpreter
    assert f"\n  bilevel apply {out}" in ended.stdout
    result = bilevel.load(out)
    assert result.num_points == 8 and len(result._learned["validation"]) == 1
    assert run("apply", str(out), "no.png", "x.png").returncode == 3


def test_ctrl_c_saves_the_run(tmp_path: Path) -> None:
    out = tmp_path / "run"
    options = ["denoise", "--size", "96", "--count", "6", "--max-points", "60", "--quiet"]
    arguments = ["learn", *options, "--out", str(out)]
    start = f"{RESET}import sys; sys.argv[1:] = {arguments!r}; "
    start += "from bilevel._program import main; sys.exit(main())"
    child = subprocess.Popen([sys.executable, "-c", start], stderr=subprocess.PIPE, text=True)
    history = out / "history.jsonl"
    while child.poll() is None and not (history.exists() and history.stat().st_size > 2000):
        time.sleep(0.002)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == 130 and "is saved" in errors and "bilevel resume" in errors, errors
    assert not (out / "result.json").exists()
    assert run("resume", str(out), "--quiet").returncode == 0
    whole = tmp_path / "whole"
    assert run("learn", *options, "--out", str(whole)).returncode == 0
    assert (whole / "result.json").read_text() == (out / "result.json").read_text()


def test_it_is_installed_with_the_package() -> None:
    try:
        scripts = metadata.distribution("bilevel").entry_points
    except metadata.PackageNotFoundError:
        pytest.skip("the package is not installed, only on the path")
    assert {entry.name: entry.value for entry in scripts} == {"bilevel": "bilevel._program:main"}
