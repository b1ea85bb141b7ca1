"""``solve``: the examples of DFO-LS's user guide with another import, and edge cases."""

from __future__ import annotations

import json
import logging
from math import exp
from typing import Any

import dfo_ls as dfols
import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("error")


def rosenbrock(x: np.ndarray) -> np.ndarray:
    return np.array([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])


X0 = np.array([-1.2, 1.0])


def check(soln: Any, x: Any, tol: float = 1e-6) -> None:
    """Flag, point, and that the parts of the result belong together."""
    assert soln.flag == soln.EXIT_SUCCESS, soln.msg
    assert soln.msg.startswith("Success: ")
    np.testing.assert_allclose(soln.x, x, atol=tol)
    assert soln.nx <= soln.nf and 1 <= soln.xmin_eval_num <= soln.nx and soln.nruns >= 1
    if soln.jacobian is not None:
        assert soln.jacobian.shape == (len(soln.resid), len(soln.x))
        assert ((1 <= soln.jacmin_eval_nums) & (soln.jacmin_eval_nums <= soln.nx)).all()


@pytest.mark.parametrize("npt", [None, 3, 5])
def test_simple(npt: int | None) -> None:
    soln = dfols.solve(rosenbrock, X0, npt=npt)
    check(soln, [1, 1], 1e-5)
    assert soln.obj == soln.f == pytest.approx(soln.resid @ soln.resid) and soln.obj <= 1e-12
    np.testing.assert_array_equal(soln.resid, rosenbrock(soln.x))
    np.testing.assert_allclose(soln.jacobian, [[-20, 10], [-1, 0]], atol=0.5)
    text = str(soln)
    for part in (
        f"Solution xmin = {soln.x}",
        "Exit flag = 0",
        f"Needed {soln.nf} objective evaluations",
    ):
        assert part in text


def test_bounds_with_a_start_outside() -> None:
    lower, upper = np.array([-10.0, -10.0]), np.array([0.9, 0.85])
    seen = []

    def objfun(x: np.ndarray) -> np.ndarray:
        seen.append(x)
        return rosenbrock(x)

    with pytest.warns(RuntimeWarning, match="x0 above upper bound, adjusting"):
        soln = dfols.solve(objfun, X0, bounds=(lower, upper))
    check(soln, [0.9, 0.81])
    assert soln.msg == "Success: rho has reached rhoend" and len(seen) == soln.nf
    assert all((lower <= x).all() and (x <= upper).all() for x in seen)
    np.testing.assert_array_equal(seen[0], [-1.2, 0.85])
    # 0.1 * max(|x0|): radii are in units of x
    assert max(abs(seen[1] - seen[0])) == pytest.approx(0.12)


def test_projections() -> None:
    lower, upper = np.array([-2.0, 1.1]), np.array([0.9, 3.0])
    center, radius = np.array([0.7, 1.5]), 0.4

    def ball_proj(x: np.ndarray) -> np.ndarray:
        return center + (radius / max(np.linalg.norm(x - center), radius)) * (x - center)

    with pytest.warns(RuntimeWarning, match="below lower"):
        soln = dfols.solve(rosenbrock, X0, bounds=(lower, upper), projections=[ball_proj])
    check(soln, [0.9, 1.5 - np.sqrt(0.12)])


@pytest.mark.parametrize("arguments", [False, True])
def test_regularizer(arguments: bool) -> None:
    n, m, lda = 5, 10, 1.0
    A, b = np.arange(m * n).reshape((m, n)), np.sqrt(np.arange(m))
    if arguments:
        soln = dfols.solve(
            lambda x, shift: A @ x - shift,
            np.zeros(n),
            h=lambda x, weight: weight * np.linalg.norm(x, 1),
            lh=lda * np.sqrt(n),
            prox_uh=lambda x, u, weight: np.sign(x) * np.maximum(np.abs(x) - weight * u, 0.0),
            argsf=(b,),
            argsh=(lda,),
            argsprox=(lda,),
        )
    else:
        soln = dfols.solve(
            lambda x: A @ x - b,
            np.zeros(n),
            h=lambda x: lda * np.linalg.norm(x, 1),
            lh=lda * np.sqrt(n),
            prox_uh=lambda x, u: np.sign(x) * np.maximum(np.abs(x) - lda * u, 0.0),
        )
    check(soln, [-6.85049254e-02, 0, 0, 0, 1.30074165e-01], 1e-4)
    assert soln.obj == pytest.approx(0.8682829845, abs=1e-7)


def test_noise() -> None:
    np.random.seed(0)
    soln = dfols.solve(
        lambda x: rosenbrock(x) * (1.0 + 1e-2 * np.random.normal(size=(2,))),
        X0,
        objfun_has_noise=True,
    )
    np.testing.assert_allclose(soln.x, [1, 1], atol=1e-3)


def test_data_fitting() -> None:
    tdata = np.array([0.9, 1.5, 13.8, 19.8, 24.1, 28.2, 35.2, 60.3, 74.6, 81.3])
    ydata = np.array([455.2, 428.6, 124.1, 67.3, 43.2, 28.1, 13.1, -0.4, -1.3, -1.5])
    upper = np.array([1e20, 0.0])
    soln = dfols.solve(
        lambda x: ydata - x[0] * np.exp(x[1] * tdata),
        np.array([100.0, -1.0]),
        bounds=(None, upper),
        rhobeg=0.1,
    )
    check(soln, [4.98830861e02, -1.01256863e-01], 1e-3)
    assert soln.obj == pytest.approx(9.504886892, abs=1e-6)


def test_nonlinear_system() -> None:
    soln = dfols.solve(
        lambda x: np.array([x[0] + x[1] - x[0] * x[1] + 2, x[0] * exp(-x[1]) - 1.0]),
        np.array([0.1, -2.0]),
    )
    check(soln, [0.09777309, -2.32510588])


def test_known_evaluations() -> None:
    target = np.arange(4.0)
    known = dfols.EvaluationDatabase(
        [(np.eye(4)[i] * 0.1, np.eye(4)[i] * 0.1 - target) for i in range(4)]
    )
    known.append(np.zeros(4), -target, make_starting_eval=True)
    calls = []

    def objfun(x: np.ndarray) -> np.ndarray:
        calls.append(x)
        return x - target

    soln = dfols.solve(objfun, known, npt=5)
    check(soln, target)
    # neither the start nor the points around it
    assert len(known) == 5 and np.linalg.norm(calls[0]) > 0 and (calls[0] > 0).sum() > 1
    assert soln.nf == len(calls) < dfols.solve(objfun, np.zeros(4), npt=5).nf


def test_samples_are_averaged() -> None:
    rng = np.random.default_rng(1)
    asked, calls = [], []

    def nsamples(delta: float, rho: float, iteration: int, nrestarts: int) -> int:
        asked.append((delta, rho, iteration, nrestarts))
        return 4

    def objfun(x: np.ndarray) -> np.ndarray:
        calls.append(x.copy())
        x[:] = np.nan  # the point belongs to the user
        return rosenbrock(calls[-1]) + 1e-3 * rng.normal(size=2)

    with pytest.warns(RuntimeWarning, match="maxfun <= npt"):
        assert dfols.solve(objfun, X0, nsamples=nsamples, maxfun=3).nf == 3
    calls.clear()
    asked.clear()
    soln = dfols.solve(objfun, X0, nsamples=nsamples, maxfun=90, objfun_has_noise=True)
    assert soln.flag == soln.EXIT_MAXFUN_WARNING and soln.nf == len(calls) == 90
    assert soln.nx == len(asked) == 23 and soln.diagnostic_info is None
    assert asked[0] == (0.12, 0.12, 0, 0) and asked[-1][2] > 5
    assert all((calls[i] == calls[i - i % 4]).all() for i in range(88))


def test_all_nan() -> None:
    soln = dfols.solve(lambda x: np.full(2, np.nan), X0)
    assert soln.flag == soln.EXIT_LINALG_ERROR and soln.msg.startswith("Error (linear algebra)")
    np.testing.assert_array_equal(soln.x, X0)
    assert np.isnan(soln.resid).all() and np.isnan(soln.obj) and soln.jacobian is None
    assert dfols.OptimResults.from_dict(json.loads(json.dumps(soln.to_dict()))).msg == soln.msg
    for key in ("interpolation.throw_error_on_nans", "restarts.throw_error_on_nans"):
        with pytest.raises(np.linalg.LinAlgError, match="NaN"):
            dfols.solve(lambda x: np.full(2, np.nan), X0, user_params={key: True})


def test_nan_beyond_a_wall_is_avoided() -> None:
    soln = dfols.solve(lambda x: rosenbrock(x) if x[0] < 1.5 else np.full(2, np.nan), X0)
    check(soln, [1, 1], 1e-5)


def test_integers_and_lists() -> None:
    for x0 in (np.array([-1, 1]), [-1, 1]):
        check(dfols.solve(lambda x: [10 * (x[1] - x[0] ** 2), 1 - x[0]], x0), [1, 1], 1e-5)


def test_start_at_the_optimum() -> None:
    soln = dfols.solve(rosenbrock, np.array([1.0, 1.0]))
    check(soln, [1, 1])
    assert soln.nf == 1 and soln.jacobian is None
    # where the objective is not zero
    check(dfols.solve(lambda x: np.append(x, 1.0), np.zeros(2)), [0, 0])


def test_scaling_within_bounds() -> None:
    bounds = (np.array([0.0, 0.0]), np.array([1e6, 1e-3]))
    first = []

    def objfun(x: np.ndarray) -> np.ndarray:
        first.append(x)
        return np.array([x[0] / 1e6 - 0.3, x[1] * 1e3 - 0.6])

    soln = dfols.solve(objfun, np.array([5e5, 5e-4]), bounds=bounds, scaling_within_bounds=True)
    check(soln, [3e5, 6e-4])
    assert abs(first[1] - first[0])[0] == pytest.approx(1e5)
    with pytest.warns(RuntimeWarning, match="Ignoring scaling_within_bounds"):
        check(dfols.solve(rosenbrock, X0, scaling_within_bounds=True), [1, 1], 1e-5)
    with pytest.raises(ValueError, match="scaling_within_bounds"):
        dfols.solve(objfun, X0, abs, 1.0, abs, bounds=bounds, scaling_within_bounds=True)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"npt": 2}, "npt"),
        ({"rhobeg": -1.0}, "rhobeg"),
        ({"rhobeg": float("nan")}, "rhobeg"),
        ({"rhoend": 0.0}, "rhoend"),
        ({"rhobeg": 1e-9}, "rhobeg must be > rhoend"),
        ({"maxfun": 0}, "maxfun"),
        ({"bounds": (np.zeros(3), None)}, "lower bounds"),
        ({"bounds": (None, np.zeros((2, 1)))}, "upper bounds"),
        ({"bounds": (np.array([-1.2, 0]), np.array([-1.1, 2]))}, "2*rhobeg"),
        ({"bounds": (np.array([0.0, 2.0]), np.array([1.0, 1.0]))}, "crossed: lower[1]"),
        ({"h": abs}, "prox_uh"),
        ({"h": abs, "prox_uh": abs}, "lh"),
        ({"h": abs, "prox_uh": abs, "lh": 0.0}, "lh"),
        ({"x0": np.zeros((1, 2))}, "x0"),
    ],
)
def test_input_errors_are_flags(arguments: dict[str, Any], part: str) -> None:
    soln = dfols.solve(rosenbrock, **{"x0": X0, **arguments})
    assert soln.flag == soln.EXIT_INPUT_ERROR and soln.x is None and soln.nf == 0
    assert soln.msg.startswith("Error (bad input): ") and part in soln.msg
    assert "bad input" in str(soln) and dfols.OptimResults.from_dict(soln.to_dict()).x is None


@pytest.mark.parametrize(
    ("arguments", "error", "part"),
    [
        ({"objfun": None}, TypeError, "objfun"),
        ({"x0": 1.0}, TypeError, "x0"),
        ({"x0": ["a"]}, TypeError, "x0"),
        ({"x0": [np.nan, 0]}, ValueError, "x0"),
        ({"x0": []}, ValueError, "x0 is empty"),
        ({"bounds": 3}, ValueError, "bounds"),
        ({"bounds": ([np.nan, 0], None)}, ValueError, "lower bounds"),
        ({"lh": 1.0}, ValueError, "lh"),
        ({"npt": 3.0}, TypeError, "npt"),
        ({"user_params": 3}, TypeError, "user_params"),
        ({"projections": [3]}, TypeError, "projections"),
        ({"x0": dfols.EvaluationDatabase()}, ValueError, "empty"),
    ],
)
def test_misuse_raises(arguments: dict[str, Any], error: type[Exception], part: str) -> None:
    with pytest.raises(error, match=part):
        dfols.solve(**{"objfun": rosenbrock, "x0": X0, **arguments})


def test_budget_and_progress(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="dfo_ls"):
        soln = dfols.solve(rosenbrock, X0, maxfun=12, print_progress=True)
    assert (soln.flag, soln.nf) == (soln.EXIT_MAXFUN_WARNING, 12)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["Run", "Iter", "Obj", "Grad", "Delta", "rho", "Evals"]
    assert lines[1].split()[:2] == ["1", "1"] and int(lines[-1].split()[-1]) <= 12
    assert caplog.messages[0] == "Function eval 1 at point 1 has obj = 24.2 at x = [-1.2  1. ]"
    assert len(caplog.messages) == 13 and caplog.messages[-1] == "Did a total of 1 run(s)"
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="dfo_ls"):
        dfols.solve(rosenbrock, X0, do_logging=False)
    assert not caplog.messages


def test_diagnostics_and_dictionaries() -> None:
    pandas = pytest.importorskip("pandas")
    keys = ("save_diagnostic_info", "save_xk", "save_rk")
    soln = dfols.solve(rosenbrock, X0, user_params={f"logging.{key}": True for key in keys})
    info = soln.diagnostic_info
    assert isinstance(info, pandas.DataFrame) and len(info) > 5
    for xk, rk, fk in zip(info["xk"], info["rk"], info["fk"]):
        np.testing.assert_array_equal(rk, rosenbrock(xk))
        # not `rk @ rk`, which may fuse multiplication and addition
        assert fk == sum(r * r for r in rk.tolist())
    assert (info["delta"] >= info["rho"]).all() and (info["poisedness"].dropna() >= 1 - 1e-9).all()
    # the run ends with an evaluation that completes no iteration
    assert (info["fk"].iloc[-1], info["nf"].iloc[-1], info["iter_type"].iloc[-1]) == (
        soln.obj,
        soln.nf,
        "Final",
    )
    assert info["poisedness"].isna().sum() == 1 and info["iters_total"].tolist() == list(
        range(len(info))
    )
    assert info["nf"].is_monotonic_increasing and set(info["slow_iter"]) <= {-1, 0, 1}
    again = dfols.OptimResults.from_dict(json.loads(json.dumps(soln.to_dict())))
    assert str(again) == str(soln)
    for key in ("x", "resid", "jacobian", "jacmin_eval_nums"):
        np.testing.assert_array_equal(getattr(again, key), getattr(soln, key))
    pandas.testing.assert_frame_equal(again.diagnostic_info, info)
    assert again.diagnostic_info["nsamples"].dtype == float
    at_once = dfols.solve(
        rosenbrock, np.ones(2), user_params={"logging.save_diagnostic_info": True}
    ).diagnostic_info
    assert at_once["fk"].tolist() == [0.0] and at_once["nf"].tolist() == [1]


def test_diagnostics_of_known_points() -> None:
    known = dfols.EvaluationDatabase([(np.ones(2), np.ones(3))])
    keys = ("save_diagnostic_info", "save_rk")
    soln = dfols.solve(
        lambda x: np.append(x, 2.0),
        known,
        rhoend=0.09,
        user_params={f"logging.{key}": True for key in keys},
    )
    assert soln.diagnostic_info["rk"][0].tolist() == [1, 1, 1] and soln.obj == 3


def test_progress_ends_with_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    soln = dfols.solve(rosenbrock, X0, print_progress=True)
    last = capsys.readouterr().out.splitlines()[-1].split()
    assert (
        float(last[2]) == pytest.approx(soln.obj, rel=0.01)
        and last[3] == "nan"
        and int(last[-1]) == soln.nf
    )


def test_interrupt_returns_the_best_point() -> None:
    calls = 0

    def objfun(x: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls == 10:
            raise KeyboardInterrupt
        return rosenbrock(x)

    soln = dfols.solve(objfun, X0)
    assert soln.flag == soln.EXIT_STOPPED_WARNING and soln.nf == 9 and soln.obj < 24.2
    calls = 9
    with pytest.raises(KeyboardInterrupt):
        dfols.solve(objfun, X0)


def test_exceptions_keep_the_run() -> None:
    def objfun(x: np.ndarray) -> np.ndarray:
        if x[0] > -0.8:
            raise OSError("the licence server is down")
        return rosenbrock(x)

    with pytest.raises(OSError, match="licence") as caught:
        dfols.solve(objfun, X0)
    assert caught.traceback[-1].name == "objfun"
    check_engine: Any = caught.value
    assert check_engine.engine.best_objective < 24.2
    assert check_engine.engine.run(rosenbrock).objective < 1e-12
