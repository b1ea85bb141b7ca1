"""Plots of a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ._arrays import with_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ._result import Result


def plot(result: Result) -> Figure:
    """Draw the objective and the parameters over the evaluations."""
    try:
        import matplotlib
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib: pip install matplotlib") from None
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 3.6), layout="constrained")
    _objective(left, result)
    if result.model == "sampling":
        _weights(right, result)
    else:
        _parameters(right, result)
    if "inline" in matplotlib.get_backend():
        # a notebook draws the returned figure, and would draw an open figure once more
        plt.close(figure)
    return figure


def _objective(axes: Axes, result: Result) -> None:
    evaluations = result._learned["evaluations"]
    f = np.array([evaluation["objective"].get("Ok", math.nan) for evaluation in evaluations])
    number = np.arange(1, len(f) + 1)
    axes.plot(number, f, ".", color="0.7", label="tried")
    iterations = result._learned["iterations"]
    if iterations:
        # the best point of the solver: a low evaluation may only be inaccurate
        place = [iteration["num_evaluations"] for iteration in iterations]
        best = [iteration["objective"] for iteration in iterations]
        axes.step([*place, len(f)], [*best, result.f], where="post", color="C0", label="best")
        lower, upper = np.array(
            [iteration["interval"] for iteration in iterations], dtype=np.float64
        ).T
        axes.fill_between(
            place,
            lower,
            upper,
            step="post",
            color="C0",
            alpha=0.25,
            lw=0,
            label="certified interval",
        )
    axes.set(
        xlabel="evaluations",
        ylabel="f",
        title=f"f = {with_error(result.f, result.f_error, 4)}",
    )
    if np.nanmin(f) > 0:
        axes.set_yscale("log")
    axes.legend()


def _parameters(axes: Axes, result: Result) -> None:
    from ._result import _entries, _value

    evaluations = result._learned["evaluations"]
    number = np.arange(1, len(evaluations) + 1)
    maps = []
    for j, parameter in enumerate(_entries(result._learned["parameters"])):
        about = parameter["parameter"]
        maps.append(about["map"])
        # histories of very many parameters do not list them
        values = [
            _value(about["map"], evaluation["theta"][j]) if evaluation["theta"] else math.nan
            for evaluation in evaluations
        ]
        (line,) = axes.plot(
            number, values, ".-", lw=0.8, label=f"{about['name']} = {parameter['value']:.3g}"
        )
        axes.axhline(parameter["value"], color=line.get_color(), lw=0.8, ls=":")
    if all(kind == "log10" for kind in maps):
        axes.set_yscale("log")
    axes.set(xlabel="evaluations", title="parameters")
    axes.legend()


def _weights(axes: Axes, result: Result) -> None:
    n = len(result.theta)
    frequency = np.fft.fftshift(np.fft.fftfreq(n, 1 / n))
    axes.stem(frequency, np.fft.fftshift(result.theta), basefmt=" ")
    axes.set(xlabel="frequency", ylabel="θ", title="weights of frequencies", ylim=(0.0, 1.0))
