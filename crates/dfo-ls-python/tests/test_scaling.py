"""``solve`` without ``rhobeg``: parameters of different sizes, and the reported lengths."""

from __future__ import annotations

import warnings
from typing import Any

import dfo_ls
import numpy as np
import pytest
from dfo_ls import _solve
from regressions import Regression, regressions

FITS = list(regressions())


def solved(fit: Regression, run: Any, **arguments: Any) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = run(fit.residuals, fit.start, **arguments).x
    return x is not None and fit.is_solved(x)


def test_the_regressions_are_what_they_claim() -> None:
    spread = [np.abs(fit.truth).max() / np.abs(fit.truth).min() for fit in FITS]
    assert len(FITS) == 88 and sum(ratio >= 1e6 for ratio in spread) >= 30
    for fit in FITS:
        at_truth = float(fit.residuals(fit.truth) @ fit.residuals(fit.truth))
        assert not fit.is_solved(fit.start)
        # noise and nothing else: the minimum is the global one
        freedom = (len(fit.t) - len(fit.truth)) / len(fit.t)
        assert fit.minimum <= at_truth <= 1.5 * fit.minimum / freedom


def test_solve_solves_what_minimize_solves() -> None:
    minimize = [solved(fit, dfo_ls.minimize) for fit in FITS]
    solve = [solved(fit, dfo_ls.solve, do_logging=False) for fit in FITS]
    missed = [fit.name for fit, a, b in zip(FITS, minimize, solve) if a and not b]
    counts = f"of {len(FITS)} fits, minimize solves {sum(minimize)} and solve {sum(solve)}"
    assert sum(minimize) >= 80 and len(missed) <= 2, f"{counts}; only minimize: {missed}"


@pytest.mark.parametrize("width", [3.0, 1e4, None])
def test_boxes_of_any_width(width: float | None) -> None:
    """Around the truth, or the same wide box for all parameters."""
    fits = [fit for fit in FITS if "noisy, near" in fit.name]
    count = 0
    for fit in fits:
        edges = [fit.truth / width, fit.truth * width] if width else [0 * fit.truth - 1e6, 1e6]
        lower, upper = np.minimum(*edges), np.maximum(*edges)
        count += solved(fit, dfo_ls.solve, bounds=(lower, upper), do_logging=False)
    assert count >= len(fits) - 1, f"{count} of {len(fits)}"


def first_steps(**arguments: Any) -> np.ndarray:
    """The longest step along each parameter among the first points."""
    seen: list[np.ndarray] = []
    x0 = np.array([1000.0, 1e-3])
    scale = 1 / x0

    def objfun(x: np.ndarray) -> np.ndarray:
        seen.append(x)
        return scale * x - [2.0, 3.0]

    dfo_ls.solve(objfun, x0, maxfun=4, do_logging=False, **arguments)
    steps: np.ndarray = np.abs(np.array(seen[1:3]) - x0).max(axis=0)
    return steps


def test_the_first_steps() -> None:
    np.testing.assert_allclose(first_steps(), [100, 1e-4])
    # one length for all, as DFO-LS documents
    np.testing.assert_allclose(first_steps(rhobeg=100.0), [100, 100])
    # the box limits the size, and does not set it
    box = (np.array([-1e9, 0.0]), np.array([1e9, 2e-3]))
    np.testing.assert_allclose(first_steps(bounds=box), [100, 1e-4])
    np.testing.assert_allclose(first_steps(bounds=box, scaling_within_bounds=True), [2e8, 2e-4])


def test_with_rhobeg_radii_are_lengths_in_x(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []

    class Spy(dfo_ls.Engine):
        def __init__(self, *args: Any, **keywords: Any) -> None:
            super().__init__(*args, **keywords)
            made.append(self.options)

    monkeypatch.setattr(_solve, "Engine", Spy)
    dfo_ls.solve(lambda x: x, [500.0, 1e-3], rhobeg=3.0, rhoend=1e-5, do_logging=False)
    region = made[0]["trust_region"]
    assert made[0]["scaling"] == {"Given": [1.0, 1.0]}
    assert (region["initial_radius"], region["final_radius"]) == (3.0, 1e-5)


@pytest.mark.parametrize(("x0", "length"), [([500.0, 1e-3], 500.0), ([5e-3, 1e-6], 1.0)])
def test_reported_radii_go_from_the_default_rhobeg_to_rhoend(
    x0: list[float], length: float, capsys: pytest.CaptureFixture[str]
) -> None:
    start = np.array(x0)
    asked: list[tuple[float, float]] = []

    def nsamples(delta: float, rho: float, iteration: int, nrestarts: int) -> int:
        asked.append((delta, rho))
        return 1

    soln = dfo_ls.solve(
        lambda x: np.append(x / start - [1.5, 0.7], [0.1 * x[0] * x[1] / start.prod(), 1.0]),
        start,
        rhoend=1e-4,
        nsamples=nsamples,
        print_progress=True,
        do_logging=False,
        user_params={"logging.save_diagnostic_info": True},
    )
    assert soln.flag == soln.EXIT_SUCCESS and soln.msg == "Success: rho has reached rhoend"
    # DFO-LS's default: 0.1 * max(|x0|, 1)
    first = 0.1 * length
    assert asked[0] == pytest.approx((first, first))
    rho, delta = (np.array(soln.diagnostic_info[name]) for name in ("rho", "delta"))
    assert rho[0] == pytest.approx(first) and (delta >= rho).all()
    assert 1e-4 <= rho[-1] < 1e-4 * 250
    steps = np.array(soln.diagnostic_info["norm_sk"])
    assert np.nanmax(steps) <= delta.max() * (1 + 1e-9)
    printed = capsys.readouterr().out.splitlines()[1].split()
    assert float(printed[5]) == pytest.approx(first, rel=1e-2)


def test_rhoend_is_a_length_of_the_largest_parameter() -> None:
    """A script that asks for 1e-3 in x gets it, although the parameter is large."""

    def objfun(x: np.ndarray) -> np.ndarray:
        return np.array([x[0] - 1234.5, 1e3 * (x[1] - 2e-3), 1e-3 * (x[0] * x[1]) ** 2, 7.0])

    fine = dfo_ls.solve(objfun, [1000.0, 1e-3], rhoend=1e-9, do_logging=False)
    found = dfo_ls.solve(objfun, [1000.0, 1e-3], rhoend=1e-3, do_logging=False)
    assert found.flag == 0 and found.nf < fine.nf and abs(found.x - fine.x)[0] < 1e-3
    refused = dfo_ls.solve(objfun, [1000.0, 1e-3], rhoend=100.0)
    assert refused.flag == refused.EXIT_INPUT_ERROR and "rhobeg must be > rhoend" in refused.msg


def test_boxes_that_are_narrow_for_their_start() -> None:
    """DFO-LS's rule for the gap, with the size of each parameter."""

    def objfun(x: np.ndarray) -> np.ndarray:
        return np.array([x[0] / 500 - 1.1, x[1] - 0.12])

    def run(upper: float, **arguments: Any) -> Any:
        bounds = (np.array([1.0, 1e-1]), np.array([2000.0, upper]))
        return dfo_ls.solve(objfun, [500.0, 0.1], bounds=bounds, do_logging=False, **arguments)

    np.testing.assert_allclose(run(0.13).x, [550, 0.12], rtol=1e-6)
    for soln in (run(0.115), run(0.1), run(0.13, rhobeg=0.1)):
        assert soln.flag == soln.EXIT_INPUT_ERROR
        assert "2*rhobeg" in soln.msg and "upper[1]" in soln.msg
