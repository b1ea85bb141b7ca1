"""Runs that are saved to a file while they run."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any, TypeVar

_T = TypeVar("_T")


def write(run: Any, path: Path) -> None:
    """Replaces the file by the pickled run. A crash leaves either the old file or the new one."""
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"the run cannot be saved to {path}, because there is no folder {path.parent}: create "
            "it, or name another one"
        )
    if path.is_dir():
        raise IsADirectoryError(
            f"the run cannot be saved to {path}, which is a folder: name a file in it"
        )
    try:
        content = pickle.dumps(run)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"the run cannot be saved to {path} ({error}): projections, the regularizer and the "
            "states of the simulator must be objects that pickle can store"
        ) from error
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def read(path: str | os.PathLike[str], kind: type[_T]) -> _T:
    """Returns the run that ``write`` saved."""
    try:
        run = pickle.loads(Path(path).read_bytes())
    except (pickle.UnpicklingError, EOFError, ValueError, AttributeError, ImportError) as error:
        raise ValueError(
            f"{os.fspath(path)} cannot be read as a run: name a file that save= wrote ({error})"
        ) from error
    if not isinstance(run, kind):
        raise ValueError(f"{os.fspath(path)} has a {type(run).__name__}, not a run of dfo_ls")
    return run
