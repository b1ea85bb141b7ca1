"""Runs that end in the middle of a batch: no evaluation is lost or repeated."""

from __future__ import annotations

import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dfo_ls
import numpy as np
import pytest

X0 = np.linspace(-1.0, 1.0, 10)


def fun(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x - 0.5, 0.3 * x[1:] * x[:-1]])


class Failing:
    """Raises at one call, and counts."""

    def __init__(self, when: int, error: BaseException) -> None:
        self.when = when
        self.error = error
        self.seen: list[bytes] = []

    def __call__(self, x: np.ndarray) -> np.ndarray:
        self.seen.append(x.tobytes())
        if len(self.seen) == self.when:
            raise self.error
        return fun(x)

    def inexact(self, x: np.ndarray, accuracy: float, state: Any) -> Any:
        return self(x), 0.0, len(self.seen), 1

    def num_repeated(self) -> int:
        return len(self.seen) - len(set(self.seen))


@pytest.mark.parametrize("inexact", [False, True])
@pytest.mark.parametrize("workers", [0, 2])
def test_only_the_call_that_raised_is_repeated(workers: int, inexact: bool) -> None:
    failing = Failing(9, ZeroDivisionError())
    call = failing.inexact if inexact else failing
    with ThreadPoolExecutor(max(workers, 1)) as pool:
        arguments: dict[str, Any] = {"executor": pool if workers else None, "inexact": inexact}
        with pytest.raises(ZeroDivisionError) as caught:
            dfo_ls.minimize(call, X0, max_points=40, **arguments)
        engine: dfo_ls.Engine = caught.value.engine  # type: ignore[attr-defined]
        assert engine.result().num_evaluations == len(failing.seen) - 1
        values = [float(fun(np.frombuffer(x)) @ fun(np.frombuffer(x))) for x in failing.seen]
        assert engine.best_objective == min(
            value for index, value in enumerate(values) if index != 8
        )
        result = engine.run(call, **arguments)
    assert failing.num_repeated() == 1 and result.num_points == 40
    np.testing.assert_array_equal(result.x, dfo_ls.minimize(fun, X0, max_points=40).x)
    if sys.version_info >= (3, 11):
        assert "error.engine.run" in caught.value.__notes__[0]


def test_a_budget_is_kept() -> None:
    failing = Failing(5, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError) as caught:
        dfo_ls.minimize(failing, X0, max_points=7)
    assert caught.value.engine.run(failing).num_points == 7 == len(failing.seen) - 1  # type: ignore[attr-defined]


def test_solve_goes_on_too() -> None:
    failing = Failing(9, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError) as caught:
        dfo_ls.solve(failing, X0)
    engine: Any = caught.value
    assert engine.engine.result().num_evaluations == 8
    engine.engine.run(failing)
    assert failing.num_repeated() == 1


@pytest.mark.parametrize("workers", [0, 1])
def test_an_interrupt_counts_what_was_evaluated_and_goes_on(workers: int) -> None:
    failing = Failing(9, KeyboardInterrupt())
    with ThreadPoolExecutor(1) as pool:
        result = dfo_ls.minimize(failing, X0, max_points=40, executor=pool if workers else None)
    assert result.termination == "stopped" and 8 <= result.num_evaluations == len(failing.seen) - 1
    values = [float(fun(np.frombuffer(x)) @ fun(np.frombuffer(x))) for x in failing.seen]
    assert result.objective == min(value for index, value in enumerate(values) if index != 8)
    assert result.engine is not None and result.engine.run(failing).num_points == 40
    assert failing.num_repeated() == 1
    assert pickle.loads(pickle.dumps(result)).engine is None


def test_a_regularizer_that_raises_hides_no_exception() -> None:
    class Broken:
        def value(self, x: np.ndarray) -> float:
            if len(failing.seen) >= 9:
                raise OSError
            return float(np.abs(x).sum())

        def prox(self, x: np.ndarray, t: float) -> np.ndarray:
            return np.sign(x) * np.maximum(np.abs(x) - t, 0.0)

    failing = Failing(9, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError) as caught:
        dfo_ls.minimize(failing, X0, regularizer=Broken())
    assert caught.value.engine.best_objective == pytest.approx(
        float(fun(X0) @ fun(X0) + np.abs(X0).sum())
    )  # type: ignore[attr-defined]


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("inexact", [False, True])
def test_time_is_looked_at_within_a_batch(workers: int, inexact: bool) -> None:
    calls = 0

    def slow(x: np.ndarray, *inexactly: Any) -> Any:
        nonlocal calls
        calls += 1
        time.sleep(0.03)
        return (fun(x), 0.0, None, 1) if inexactly else fun(x)

    with ThreadPoolExecutor(1) as pool:
        executor = pool if workers else None
        result = dfo_ls.minimize(
            slow, np.linspace(-1, 1, 50), max_time=0.3, inexact=inexact, executor=executor
        )
    # ten evaluations end before the limit, or fewer on a busy machine
    assert result.message.endswith("max_time") and 1 <= result.num_evaluations == calls <= 12
    assert result.objective == min(
        row.objective for row in result.evaluations if row.objective is not None
    )


def test_results_compare_by_identity() -> None:
    result, other = (dfo_ls.minimize(fun, X0, max_points=12) for _ in range(2))
    assert result == result and result != other and result.iterations[0] != other.iterations[0]
    assert result.evaluations[0] in result.evaluations and len({result, other}) == 2
