"""Options as nested dictionaries, in the form in which the crate ``dfo-ls`` serialises them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from . import _dfo_ls
from ._numbers import real

Preset = Literal["default", "noisy", "paper", "experiments"]

# What Rust expects, and what it found, in Python's words. The first pattern that matches counts.
_EXPECTED = (
    (r"f64", "a number"),
    (r"u32|u64|usize", "an integer that is zero or positive"),
    (r"a boolean", "True or False"),
    (r"struct .*|map.*", "a dictionary"),
    (r"string or map", "a string or a dictionary"),
)
_FOUND = (
    (r"null", "None"),
    (r"sequence", "a list"),
    (r"map", "the dictionary"),
    (r"boolean `true`", "True"),
    (r"boolean `false`", "False"),
    (r"(?:integer|floating point) `(.*)`", r"\1"),
    (r'string "(.*)"', r"'\1'"),
)


def default_options(preset: Preset = "default") -> dict[str, Any]:
    """Returns every option with its value, as a nested dictionary. ``options=`` takes parts of it.

    The preset ``"noisy"`` is for residuals with random noise, ``"paper"`` is Algorithm 1 of the
    paper, and ``"experiments"`` has the rules of the paper's experiments.

    >>> import dfo_ls
    >>> dfo_ls.default_options()["trust_region"]["final_radius"]
    1e-08
    >>> dfo_ls.default_options("noisy")["model"]
    {'Regression': {'points_per_param': 1.3}}
    """
    options: dict[str, Any] = json.loads(_dfo_ls.preset(preset))
    return options


def merged(base: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Merges ``given`` into ``base``. Groups of options are merged; other values are replaced."""
    result = dict(base)
    for key, value in given.items():
        old = result.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping) and value.keys() <= old.keys():
            result[key] = merged(old, value)
        else:
            result[key] = value
    return result


def with_keywords(options: Mapping[str, Any] | None, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Adds keyword arguments, by their paths, to options. Those that are ``None`` are skipped."""
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
            raise ValueError(f"'{path}' is given twice: as a keyword argument and in options")
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
    """Converts seconds to the form of the solver's options."""
    if seconds is None:
        return None
    seconds = real("max_time", seconds)
    if not 0 < seconds < 2**63:
        raise ValueError(f"max_time is {seconds}, but must be a positive number of seconds")
    nanos = min(round(seconds * 10**9), 2**63)
    return {"secs": nanos // 10**9, "nanos": nanos % 10**9}


def completed(preset: Preset, given: Mapping[str, Any] | None) -> str:
    """Returns all options for Rust: those of a preset, replaced by those that are given.

    Times may be given in seconds.
    """
    options = merged(default_options(preset), _copied(given or {}))
    budget = options.get("budget")
    if isinstance(budget, dict) and not isinstance(budget.get("max_time"), Mapping):
        budget["max_time"] = duration(budget.get("max_time"))
    return as_json(options)


def explained(message: str) -> str:
    """Puts a message of Rust about options into Python's words.

    >>> explained("options: 'batch': invalid type: floating point `1.5`, expected usize")
    "options: 'batch' must be an integer that is zero or positive, but is 1.5"
    """
    wrong = re.fullmatch(
        r"(options: '.*?'): (?:invalid (?:type|value): (.*)|unknown variant `(.*)`), expected (.*)",
        message,
    )
    if wrong is None:
        return message
    option, found, variant, expected = wrong.groups()
    if variant is not None:
        return f"{option} must be {expected.replace('`', chr(39))}, but is '{variant}'"
    return f"{option} must be {_said(_EXPECTED, expected)}, but is {_said(_FOUND, found)}"


def _said(words: Sequence[tuple[str, str]], text: str) -> str:
    for pattern, said in words:
        if match := re.fullmatch(pattern, text):
            return match.expand(said)
    return text


def as_json(options: Mapping[str, Any]) -> str:
    """Converts options, which may contain NumPy's numbers and arrays, to JSON."""
    try:
        return json.dumps(options, default=_plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"options: {error}") from None


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} is not a number, a string or a dictionary")
