"""Runs in directories, which Python and the program `bilevel` write and read alike, and files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import numpy as np

from . import _bilevel
from ._arrays import kinds
from ._settings import MODELS, TASKS

# What a result says about a run with a model that is given by functions.
OF_FUNCTIONS: Final[dict[str, Any]] = {
    "model": "strongly convex",
    "fixed": {},
    "family": None,
    "kernel": None,
    "mask": None,
}


def write(path: str | os.PathLike[str], text: str) -> None:
    """Write a file, or say what to do if there is no folder for it."""
    file = Path(path)
    if not file.parent.is_dir():
        raise FileNotFoundError(
            f"{file} cannot be written, because there is no folder {file.parent}: create it, or "
            "name another one"
        )
    file.write_text(text, encoding="utf-8")


def describe(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Read what a result says about its run, and the result itself if the run has ended."""
    functions = _bilevel.describe_functions(path)
    if functions is not None:
        text, learned_text = functions
        settings = json.loads(text)
        spec = settings["spec"]
        about = {
            "objective": spec["objective"]["scale"],
            "method": spec["solver"]["method"],
            **OF_FUNCTIONS,
            **settings["about"],
        }
        return about, None if learned_text is None else json.loads(learned_text)
    spec_text, ndim, kernel, name, mask, learned_text, camera = _bilevel.describe_run(path)
    spec = json.loads(spec_text)
    task, learned = spec["task"], None if learned_text is None else json.loads(learned_text)
    model = next(name for name in MODELS if TASKS.get(name, name) == task)
    if spec["model"].get("filters") is not None:
        model = "filters"
    about = {
        "objective": spec["objective"]["scale"],
        "method": spec["solver"]["method"],
        "model": model,
        "fixed": spec["model"]["fixed"],
        "family": {"task": task, "model": spec["model"]},
        "kernel": None if kernel is None else kernel[0].reshape(kernel[1]),
        "shape": name,
        "mask": None if mask is None else mask[0].reshape(mask[1]).astype(np.bool_),
        "ndim": ndim,
        "camera": camera,
    }
    if learned is not None:
        is_colour = bool(spec["model"].get("colour"))
        about["examples"] = kinds(ndim, len(learned["training"]), is_colour)
    return about, learned
