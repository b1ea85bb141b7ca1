"""Runs in directories, which Python and the program `bilevel` write and read alike."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from . import _bilevel
from ._arrays import counted
from ._settings import MODELS, TASKS


def describe(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Read what a result says about its run, and the result itself if the run has ended."""
    spec_text, ndim, operator, learned_text, camera = _bilevel.describe_run(path)
    spec = json.loads(spec_text)
    task, learned = spec["task"], None if learned_text is None else json.loads(learned_text)
    model = next(name for name in MODELS if TASKS.get(name, name) == task)
    if spec["model"].get("filters") is not None:
        model = "filters"
    array = None if operator is None else operator[0].reshape(operator[1])
    about = {
        "objective": spec["objective"]["scale"],
        "method": spec["solver"]["method"],
        "model": model,
        "fixed": spec["model"]["fixed"],
        "family": {"task": task, "model": spec["model"]},
        "kernel": array if model == "deblur" else None,
        "mask": array.astype(np.bool_) if model == "inpaint" and array is not None else None,
        "ndim": ndim,
        "camera": camera,
    }
    if learned is not None:
        kind = "signal" if ndim == 1 else "picture"
        about["examples"] = counted(len(learned["training"]), kind)
        if ndim == 3:
            about["examples"] += " in colour"
    return about, learned
