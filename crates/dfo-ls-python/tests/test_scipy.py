"""Habits of SciPy's users: results, arguments, workers, and bounds as SciPy has them."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import Pool
from multiprocessing.pool import ThreadPool
from threading import Lock
from typing import Any

import dfo_ls
import numpy as np
import pytest

X0 = np.array([-1.2, 1.0])


def rosenbrock(x: np.ndarray) -> np.ndarray:
    return np.array([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])


def scaled(x: np.ndarray, factor: float, shift: np.ndarray) -> np.ndarray:
    return factor * rosenbrock(x) + shift


def wall(x: np.ndarray) -> np.ndarray:
    if x[0] > 1.2:
        raise dfo_ls.Reject("too far", work=2)
    return rosenbrock(x)


def simulator(x: np.ndarray, accuracy: float, state: Any, target: float = 3.0) -> Any:
    return [x[0] - target, 0.1 * x[0] * x[1], x[1]], 0.0, float(x[0]), 2


def test_the_result_reads_like_scipys() -> None:
    result = dfo_ls.minimize(lambda x: np.append(rosenbrock(x), 0.5), X0)
    assert result.fun is result.residuals and result.jac is result.jacobian
    assert result.cost == 0.5 * result.objective == pytest.approx(0.5 * result.fun @ result.fun)
    assert result.nfev == result.num_evaluations == len(result.evaluations)
    assert result.nit == len(result.iterations) and result.status == 3
    # like a dictionary
    assert isinstance(result, Mapping) and result["x"] is result.x and "jac" in result
    assert "nothing" not in result and result.get("nothing", 3) == 3 and 3 not in result
    assert list(result) == list(result.keys()) and len(result) == len(dict(**result))
    with pytest.raises(KeyError):
        result["__class__"]
    for key, value in result.items():
        assert getattr(result, key) is value or isinstance(value, (int, float, np.ndarray))
    assert {"x", "residuals", "objective", "interval", "engine"} <= result.keys()
    loaded = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(loaded["x"], result.x)
    assert loaded["engine"] is None and loaded != result and bool(result)


def test_the_result_is_printed_like_scipys() -> None:
    lines = str(dfo_ls.minimize(rosenbrock, X0)).splitlines()
    fields = dict(line.split(": ", 1) for line in lines if ": " in line)
    keys = [key.strip() for key in fields]
    assert keys[:4] == ["message", "success", "status", "x"]
    assert {"cost", "fun", "jac", "nfev"} <= set(keys)
    assert len({line.index(":") for line in lines if ": " in line}) == 1
    long = repr(dfo_ls.minimize(lambda x: np.tile(rosenbrock(x), 500), X0))
    assert "..." in long and len(long.splitlines()) < 30


def test_scipys_least_squares_agrees() -> None:
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is not installed")
    theirs = optimize.least_squares(lambda x: np.append(rosenbrock(x), 0.5), X0)
    ours = dfo_ls.minimize(lambda x: np.append(rosenbrock(x), 0.5), X0)
    assert {"x", "cost", "fun", "jac", "nfev", "status", "message", "success"} <= theirs.keys()
    assert ours.cost == pytest.approx(theirs.cost) and ours.success == theirs.success
    np.testing.assert_allclose(ours.fun, theirs.fun, atol=1e-6)
    np.testing.assert_allclose(ours.jac, theirs.jac, atol=1e-3)
    copied = optimize.OptimizeResult(ours)
    assert copied.cost == ours.cost and copied["x"] is ours.x
    box = optimize.Bounds([-2, -2], [0.9, 2])
    np.testing.assert_allclose(
        dfo_ls.minimize(rosenbrock, X0, bounds=box).x, [0.9, 0.81], atol=1e-6
    )


def test_status() -> None:
    def stop(row: dfo_ls.Iteration) -> bool:
        return True

    for arguments, status in (
        ({"target": 1e-3}, 5),
        ({"max_points": 7}, 0),
        ({"callback": stop}, -2),
        ({"fun": lambda x: [np.nan]}, -1),
    ):
        result = dfo_ls.minimize(**{"fun": rosenbrock, "x0": X0, **arguments})
        assert result.status == status and result.success == (status > 0)


def test_args() -> None:
    shift = np.zeros(2)
    straight = dfo_ls.minimize(lambda x: 2.0 * rosenbrock(x), X0)
    given = dfo_ls.minimize(scaled, X0, args=(2.0, shift))
    np.testing.assert_array_equal(given.x, straight.x)
    rows = dfo_ls.minimize(
        lambda xs, factor: [factor * rosenbrock(x) for x in xs], X0, args=(2.0,), vectorized=True
    )
    np.testing.assert_array_equal(rows.x, straight.x)
    inexact = dfo_ls.minimize(simulator, [1.0, 1.0], args=(5.0,), inexact=True)
    np.testing.assert_allclose(inexact.x, [5, 0], atol=1e-6)
    engine = dfo_ls.Engine(X0)
    np.testing.assert_array_equal(engine.run(scaled, args=(2.0, shift)).x, straight.x)
    with pytest.raises(TypeError, match="missing"):
        dfo_ls.minimize(scaled, X0)


@pytest.mark.parametrize("fun", [rosenbrock, wall])
def test_workers_change_nothing(fun: Any) -> None:
    serial = dfo_ls.minimize(fun, X0, batch=2)
    with Pool(2) as pool, ThreadPoolExecutor(2) as threads:
        for workers in (1, 2, np.int64(2), -1, map, pool.map, pool.imap, threads.map, backwards):
            result = dfo_ls.minimize(fun, X0, batch=2, workers=workers)
            np.testing.assert_array_equal(result.x, serial.x)
            assert (result.nfev, result.work) == (serial.nfev, serial.work)
        result = dfo_ls.minimize(scaled, X0, args=(1.0, 0.0), batch=2, workers=pool.map)
        np.testing.assert_allclose(result.x, [1, 1], atol=1e-6)


def backwards(call: Any, tasks: Any) -> list[Any]:
    """A map whose results come in another order, like ``pool.imap_unordered``."""
    return [call(task) for task in reversed(tasks)]


def test_workers_with_an_inexact_simulator() -> None:
    serial = dfo_ls.minimize(simulator, [1.0, 1.0], inexact=True)
    with Pool(2) as pool:
        for workers in (2, map, pool.map):
            result = dfo_ls.minimize(simulator, [1.0, 1.0], inexact=True, workers=workers)
            np.testing.assert_array_equal(result.x, serial.x)
            assert result.work == serial.work


def test_what_processes_cannot_get_is_refused_with_advice() -> None:
    advice = "cannot be sent to other processes .*top level of a module.*ThreadPoolExecutor"
    with ProcessPoolExecutor(1) as executor, Pool(1) as pool:
        for given in ({"workers": 2}, {"workers": pool.map}, {"executor": executor}):
            for fun, args in ((lambda x: rosenbrock(x), ()), (scaled, (1.0, Lock()))):
                with pytest.raises(TypeError, match=advice) as caught:
                    dfo_ls.minimize(fun, X0, args=args, **given)  # type: ignore[arg-type]
                assert "pickle" in str(caught.value.__cause__)
    # threads take any function
    with ThreadPoolExecutor(2) as executor, ThreadPool(2) as pool:
        for given in ({"workers": pool.map}, {"executor": executor}):
            result = dfo_ls.minimize(lambda x: rosenbrock(x), X0, **given)  # type: ignore[arg-type]
            np.testing.assert_allclose(result.x, [1, 1], atol=1e-6)


def test_an_exception_among_workers_keeps_the_run() -> None:
    calls = 0

    def fun(x: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise ZeroDivisionError
        return rosenbrock(x)

    with pytest.raises(ZeroDivisionError) as caught:
        dfo_ls.minimize(fun, X0, workers=map)
    assert caught.traceback[-1].name == "fun"
    result = caught.value.engine.run(fun, workers=map)  # type: ignore[attr-defined]
    assert calls == result.nfev + 1
    np.testing.assert_array_equal(result.x, dfo_ls.minimize(rosenbrock, X0).x)


@pytest.mark.parametrize(
    "bounds",
    [
        ([-2, None], [0.9, 2]),
        ([-2, -np.inf], np.array([0.9, 2])),
        [(-2, 0.9), (None, 2)],
        [(None, 0.9), (-2, None)],
        zip([-2, -2], [0.9, 2]),
        (-2, [0.9, 2]),
        [None, [0.9, 2]],
    ],
)
def test_bounds_as_sides_or_pairs(bounds: Any) -> None:
    result = dfo_ls.minimize(rosenbrock, X0, bounds=bounds)
    np.testing.assert_allclose(result.x, [0.9, 0.81], atol=1e-6)


@pytest.mark.parametrize(
    "bounds",
    [
        [(0, 2), (0, 2), (0, 5)],
        ((0, 2), (0, 2), (0, 5)),
        [[0, 2], [0, 2], [0, 5]],
        np.array([[0, 2], [0, 2], [0, 5]]),
        ((0, 0, 0), (2, 2, 5)),
        [[0, 0, 0], [2, 2, 5]],
        np.array([[0, 0, 0], [2, 2, 5]]),
    ],
)
def test_bounds_that_can_be_read_in_one_way(bounds: Any) -> None:
    result = dfo_ls.minimize(lambda x: x - [1.0, 3.0, 4.0], [0.5, 0.5, 0.5], bounds=bounds)
    np.testing.assert_allclose(result.x, [1, 2, 4], atol=1e-6)


def test_one_parameter() -> None:
    for x0 in (1.0, 1, np.float64(1.0), np.array(1.0), [1.0]):
        for bounds in (None, (0, 5), [(0, 5)], ([0], [5]), [(None, 5)]):
            result = dfo_ls.minimize(lambda x: x**2 - 2, x0, bounds=bounds)
            assert result.x.shape == (1,) and result.x[0] == pytest.approx(2**0.5)
    assert dfo_ls.Engine(1.0).ask()[0].x.tolist() == [1.0]
