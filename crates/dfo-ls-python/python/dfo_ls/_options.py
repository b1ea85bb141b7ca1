"""Options: nested dictionaries in the shape that the solver gives them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from . import _dfo_ls
from ._numbers import real

Preset = Literal["default", "noisy", "paper", "experiments"]


def default_options(preset: Preset = "default") -> dict[str, Any]:
    """Every option with its value, as a nested dictionary: what ``options=`` takes parts of.

    ``"noisy"`` is for residuals with random noise, ``"paper"`` for Algorithm 1 of the paper, ``"experiments"`` for the rules of its
    experiments.

    >>> import dfo_ls
    >>> dfo_ls.default_options()["trust_region"]["final_radius"]
    1e-08
    >>> dfo_ls.default_options("noisy")["model"]
    {'Regression': {'points_per_param': 1.3}}
    """
    options: dict[str, Any] = json.loads(_dfo_ls.preset(preset))
    return options


def merged(base: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """``given`` over ``base``. Groups are merged; choices, and what is not known here, replace."""
    result = dict(base)
    for key, value in given.items():
        old = result.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping) and value.keys() <= old.keys():
            result[key] = merged(old, value)
        else:
            result[key] = value
    return result


def with_keywords(options: Mapping[str, Any] | None, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Options together with keyword arguments, given by their paths; those that are ``None`` were not given."""
    result: dict[str, Any] = _copied(options or {})
    for path, value in keywords.items():
        if value is None:
            continue
        *groups, last = path.split(".")
        place = result
        for group in groups:
            place = place.setdefault(group, {})
            if not isinstance(place, dict):
                raise ValueError(f"options: '{group}' must be a dictionary")
        if last in place:
            raise ValueError(f"'{path}' is given twice: as a keyword and in options")
        place[last] = value
    return result


def _copied(options: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(options, Mapping):
        raise TypeError(f"options must be a dictionary, but is {options!r}")
    return {
        key: _copied(value) if isinstance(value, Mapping) else value
        for key, value in options.items()
    }


def duration(seconds: float | None) -> dict[str, int] | None:
    """Seconds as the solver has them."""
    if seconds is None:
        return None
    seconds = real("max_time", seconds)
    if not 0 < seconds < 2**63:
        raise ValueError(f"max_time is {seconds}, but must be a positive number of seconds")
    nanos = min(round(seconds * 10**9), 2**63)
    return {"secs": nanos // 10**9, "nanos": nanos % 10**9}


def completed(preset: Preset, given: Mapping[str, Any] | None) -> str:
    """All options, for Rust: a preset, and what is given over it. Times may be given in seconds."""
    options = merged(default_options(preset), _copied(given or {}))
    budget = options.get("budget")
    if isinstance(budget, dict) and not isinstance(budget.get("max_time"), Mapping):
        budget["max_time"] = duration(budget.get("max_time"))
    return as_json(options)


def as_json(options: Mapping[str, Any]) -> str:
    """For Rust, which has no use for NumPy's numbers."""
    try:
        return json.dumps(options, default=_plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"options: {error}") from None


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} is neither a number, a text nor a dictionary")
