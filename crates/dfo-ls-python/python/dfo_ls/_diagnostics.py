"""The table ``diagnostic_info`` of DFO-LS, with the columns that this solver can fill."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ._arrays import FloatArray

_KINDS = {
    "initial": "Initialisation",
    "failed": "Evaluation failed",
    "short": "Safety",
    "criticality": "Criticality",
    "restarted": "Soft restart",
    "final": "Final",
}
#: Columns about DFO-LS's interpolation system, which this solver does not have.
_UNKNOWN = (
    "interpolation_error",
    "interpolation_condition_number",
    "interpolation_change_J_norm",
    "interpolation_total_residual",
)


def table(
    iterations: list[dict[str, Any]],
    options: Mapping[str, Any],
    npt: int,
    save_xk: bool,
    residuals: Mapping[bytes, FloatArray] | None,
) -> dict[str, list[Any]]:
    """Returns one list for each column, with one entry for each iteration.

    ``residuals`` holds the residuals of all points by the bytes of the point, for the column
    ``rk``.
    """
    count = len(iterations)
    columns: dict[str, list[Any]] = {}
    if save_xk:
        columns["xk"] = [row["x"] for row in iterations]
    if residuals is not None:
        columns["rk"] = [residuals[row["x"].tobytes()] for row in iterations]
    columns["fk"] = [row["objective"] for row in iterations]
    columns["rho"] = [row["rho"] for row in iterations]
    columns["delta"] = [row["delta"] for row in iterations]
    for name in _UNKNOWN:
        columns[name] = [math.nan] * count
    columns["poisedness"] = [_number(row["poisedness"]) for row in iterations]
    columns["max_distance_xk"] = [math.nan] * count
    columns["norm_gk"] = [row["gradient"] for row in iterations]
    columns["norm_sk"] = [_number(row["step"]) for row in iterations]
    runs, begins = _runs(iterations)
    columns["nruns"] = runs
    columns["nf"] = [row["work"] for row in iterations]
    columns["nx"] = [row["num_points"] for row in iterations]
    columns["npt"] = [npt] * count
    columns["nsamples"] = [math.nan] * count
    columns["iter_this_run"] = [row["number"] - begin for row, begin in zip(iterations, begins)]
    columns["iters_total"] = [row["number"] for row in iterations]
    columns["iter_type"] = [_kind(row, options["trust_region"]["eta2"]) for row in iterations]
    columns["ratio"] = [_number(row["ratio"]) for row in iterations]
    columns["slow_iter"] = _slow(iterations, options["slow"])
    return columns


def with_end(
    iterations: list[dict[str, Any]], report: Mapping[str, Any], radii: tuple[float, float]
) -> list[dict[str, Any]]:
    """Adds a row for the evaluations after the last iteration, if there are any."""
    seen = iterations[-1]["work"] if iterations else 0
    if seen >= report["work"] or len(report["residuals"]) == 0:
        return iterations
    row = {key: report[key] for key in ("x", "objective", "num_points", "num_evaluations", "work")}
    row |= {
        "number": iterations[-1]["number"] + 1 if iterations else 0,
        "kind": "final",
        "delta": radii[0],
        "rho": radii[1],
    }
    return [
        *iterations,
        row | {"gradient": math.nan, "step": None, "ratio": None, "poisedness": None},
    ]


def in_x(iterations: list[dict[str, Any]], length: float) -> list[dict[str, Any]]:
    """Converts radii, steps and gradients to lengths in ``x``: a radius of 1 is ``length``."""
    if length == 1:
        return iterations
    return [
        row
        | {
            "delta": length * row["delta"],
            "rho": length * row["rho"],
            "step": None if row["step"] is None else length * row["step"],
            "gradient": row["gradient"] / length,
        }
        for row in iterations
    ]


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _kind(row: Mapping[str, Any], eta2: float) -> str:
    kind: str = row["kind"]
    if kind == "accepted":
        return "Very successful" if _number(row["ratio"]) > eta2 else "Successful"
    if kind == "rejected":
        return "Acceptable" if _number(row["ratio"]) > 0 else "Unsuccessful"
    return _KINDS.get(kind, kind)


def _runs(iterations: list[dict[str, Any]]) -> tuple[list[int], list[int]]:
    """Returns the number of restarts before each iteration, and the first iteration since."""
    runs, begins = [], []
    run = begin = 0
    for row in iterations:
        runs.append(run)
        begins.append(begin)
        if row["kind"] == "restarted":
            run, begin = run + 1, row["number"] + 1
    return runs, begins


def _slow(iterations: list[dict[str, Any]], slow: Mapping[str, Any]) -> list[int]:
    """Returns 1 for each successful iteration that is slow, 0 for other successful ones, or -1."""
    flags = []
    history: list[float] = []
    for row in iterations:
        if row["kind"] == "restarted":
            history.clear()
        if row["kind"] != "accepted":
            flags.append(-1)
            continue
        history = [*history[-slow["history"] :], row["objective"]]
        full = len(history) > slow["history"] and history[-1] > 0
        flags.append(
            int(full and math.log(history[0] / history[-1]) / slow["history"] < slow["rate"])
        )
    return flags
