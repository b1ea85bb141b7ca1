"""The examples of the documentation run, and pass the type checker."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import dfo_ls
import pytest

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
MODULES = [f"dfo_ls.{found.name}" for found in pkgutil.iter_modules(dfo_ls.__path__)]


@pytest.mark.parametrize("name", ["dfo_ls", *MODULES])
def test_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_everything_public_has_a_docstring() -> None:
    examples = 0
    for name in dfo_ls.__all__:
        item = getattr(dfo_ls, name)
        if callable(item):
            assert item.__doc__, name
            examples += ">>>" in item.__doc__
    assert examples >= 8


@pytest.mark.parametrize("index", range(len(EXAMPLES)))
def test_readme(index: int) -> None:
    exec(compile(EXAMPLES[index], f"README example {index}", "exec"), {})


def test_examples_are_typed(tmp_path: Path) -> None:
    assert len(EXAMPLES) == 2
    paths = [tmp_path / f"example_{index}.py" for index in range(len(EXAMPLES))]
    for path, example in zip(paths, EXAMPLES):
        path.write_text(example, encoding="utf-8")
    paths.extend(sorted(README.with_name("examples").glob("*.py")))
    settings = tmp_path / "mypy.ini"
    # the sources of Dask take ten seconds
    skipped = "[mypy-distributed.*]\nfollow_imports = skip\n"
    settings.write_text(f"[mypy]\nignore_missing_imports = True\n{skipped}", encoding="ascii")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", settings, "--check-untyped-defs", *paths],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
