"""``minimize`` and ``Engine``: inexact simulators, batches, save and resume, Ctrl-C, exceptions."""

from __future__ import annotations

import json
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import dfo_ls
import numpy as np
import pytest

X0 = np.array([-1.2, 1.0, -0.5, 0.7])


def chained(x: np.ndarray) -> np.ndarray:
    return np.concatenate([10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x[:-1]])


def same(one: dfo_ls.Result, other: dfo_ls.Result) -> None:
    """Bit for bit, in the result and in the history."""
    assert (one.objective, one.termination, one.work) == (
        other.objective,
        other.termination,
        other.work,
    )
    np.testing.assert_array_equal(one.x, other.x)
    np.testing.assert_array_equal(one.jacobian, other.jacobian)
    np.testing.assert_array_equal([e.x for e in one.evaluations], [e.x for e in other.evaluations])


def simulator(x: np.ndarray, accuracy: float, state: Any) -> tuple[Any, float, Any, int]:
    """Fixed points of contractions, approached from the state."""
    y = np.zeros(2) if state is None else np.array(state)
    work, error = 0, math.inf
    while not error <= accuracy and work < 400:
        new = np.array([0.9 * y[1] + x[0], 0.5 * y[0] + x[1]])
        error = 0.9 / 0.1 * float(np.linalg.norm(new - y)) + 1e-13
        y, work = new, work + 1
    return y - [2.0, 3.0], error, y.tolist(), work


def exact_simulator(x: np.ndarray) -> np.ndarray:
    return np.linalg.solve([[1, -0.9], [-0.5, 1]], x) - [2.0, 3.0]


def test_result() -> None:
    result = dfo_ls.minimize(chained, X0)
    assert result.success and result.termination == "radius_reached" and result.message
    np.testing.assert_allclose(result.x, np.ones(4), atol=1e-6)
    np.testing.assert_array_equal(result.residuals, chained(result.x))
    assert result.interval[0] <= result.objective <= result.interval[1] and result.accuracy == 0
    assert result.num_points == result.num_evaluations == result.work == len(result.evaluations)
    assert [row.number for row in result.iterations] == list(range(len(result.iterations)))
    assert "x: [1. 1. 1. 1.]" in repr(result)


def test_constraints() -> None:
    def fun(x: np.ndarray) -> np.ndarray:
        return x - [3.0, 1.0]

    def ball(x: np.ndarray) -> np.ndarray:
        return x * 1.25 / max(np.linalg.norm(x), 1.25)

    for arguments, answer in [
        ({"bounds": ([0, 0], [1, np.inf])}, [1, 1]),
        ({"bounds": (0, 1)}, [1, 1]),
        ({"bounds": ([0.5, -1], [0.5, 2])}, [0.5, 1]),
        ({"bounds": ([0, 0], [1, np.inf]), "projections": [ball]}, [1, 0.75]),
        ({"regularizer": dfo_ls.L1(3.0)}, [1.5, 0]),
    ]:
        np.testing.assert_allclose(
            dfo_ls.minimize(fun, [0.5, 0.5], **arguments).x, answer, atol=1e-6
        )


def test_inexact() -> None:
    requests = []

    def fun(x: np.ndarray, accuracy: float, state: Any) -> Any:
        requests.append((accuracy, state))
        return simulator(x, accuracy, state)

    result = dfo_ls.minimize(fun, [1.0, 1.0], inexact=True, final_radius=1e-4)
    truth = exact_simulator(result.x) @ exact_simulator(result.x)
    assert result.interval[0] <= truth <= result.interval[1] and 0 < result.accuracy
    assert requests[0][1] is None and all(state is not None for _, state in requests[1:])
    assert requests[0][0] > 0 and min(accuracy for accuracy, _ in requests[1:]) < 1e-3
    assert result.work == sum(row.work for row in result.evaluations) > len(requests)
    assert [row.requested for row in result.evaluations] == [accuracy for accuracy, _ in requests]


def test_states_that_are_not_used_are_forgotten() -> None:
    engine = dfo_ls.Engine([1.0, 1.0])
    while jobs := engine.ask():
        for job in jobs:
            residuals, achieved, state, work = simulator(job.x, job.accuracy, job.state)
            job.answer(residuals, achieved, state, work)
        engine.tell()
        assert len(engine._states) <= 8
    assert engine._next_state > 20


def test_ask_and_tell() -> None:
    engine = dfo_ls.Engine(X0, options={"batch": 4})
    assert engine.num_residuals is None and engine.best_x is None and engine.termination is None
    rounds = 0
    while jobs := engine.ask():
        for job in reversed(jobs):
            assert job.start == "cold" and job.state is None and job.sample == 0
            job.answer(chained(job.x))
        iterations = engine.tell()
        assert all(isinstance(row, dfo_ls.Iteration) for row in iterations)
        rounds += 1
    same(engine.result(), dfo_ls.minimize(chained, X0, batch=4))
    assert rounds < engine.result().num_points and engine.num_residuals == 6
    with pytest.raises(RuntimeError, match="ask"):
        job.answer(chained(job.x))


def test_jobs_left_unanswered_are_asked_again() -> None:
    engine = dfo_ls.Engine(X0)
    turn = 0
    while jobs := engine.ask():
        for job in jobs[turn % 2 :: 2] if len(jobs) > 1 else jobs:
            job.answer(chained(job.x))
        engine.tell()
        turn += 1
    np.testing.assert_array_equal(engine.result().x, dfo_ls.minimize(chained, X0).x)


@pytest.mark.parametrize("how", ["pickle", "json"])
@pytest.mark.parametrize("inexact", [False, True])
def test_saved_at_any_time_it_goes_on_bit_for_bit(how: str, inexact: bool) -> None:
    def again(engine: dfo_ls.Engine) -> dfo_ls.Engine:
        if how == "json":
            return dfo_ls.Engine.from_json(engine.to_json())
        loaded = pickle.loads(pickle.dumps(engine))
        assert isinstance(loaded, dfo_ls.Engine)
        return loaded

    x0, bounds = (X0, (-2, [2, 2, 2, np.inf])) if not inexact else (X0[:2], None)
    fun = simulator if inexact else lambda x, accuracy, state: (chained(x), 0.0, None, 1)
    options = {"trust_region": {"final_radius": 1e-6}}
    engine = dfo_ls.Engine(x0, bounds=bounds, options=options)
    turn = 0
    while engine.ask():
        engine = again(engine)
        for index, job in enumerate(engine.ask()):
            residuals, achieved, state, work = fun(job.x, job.accuracy, job.state)
            job.answer(
                np.full(len(residuals), np.nan) if turn == 4 and index == 0 else residuals,
                achieved,
                state,
                work,
            )
            if index == 1:
                break
        engine = again(engine)
        engine.tell()
        turn += 1
    straight = dfo_ls.Engine(x0, bounds=bounds, options=options)
    turn = 0
    while jobs := straight.ask():
        for index, job in enumerate(jobs[:2]):
            residuals, achieved, state, work = fun(job.x, job.accuracy, job.state)
            job.answer(
                np.full(len(residuals), np.nan) if turn == 4 and index == 0 else residuals,
                achieved,
                state,
                work,
            )
        straight.tell()
        turn += 1
    same(engine.result(), straight.result())


def test_saved_with_code() -> None:
    engine = dfo_ls.Engine([0.5, 0.5], projections=[half_plane], regularizer=dfo_ls.L1(0.1))
    engine.ask()[0].answer([1.0, 2.0])
    loaded = pickle.loads(pickle.dumps(engine))
    from_json = dfo_ls.Engine.from_json(
        engine.to_json(), projections=[half_plane], regularizer=dfo_ls.L1(0.1)
    )
    results = [each.run(lambda x: x - [3.0, 1.0]) for each in (engine, loaded, from_json)]
    same(results[0], results[1])
    same(results[0], results[2])
    assert results[0].x[0] <= 1
    with pytest.raises(ValueError, match="projections"):
        dfo_ls.Engine.from_json(engine.to_json())


def half_plane(x: np.ndarray) -> np.ndarray:
    return np.array([min(x[0], 1.0), x[1]])


def test_what_cannot_be_saved() -> None:
    engine = dfo_ls.Engine([1.0])
    engine.ask()[0].answer([1.0], 0.1, state=np.zeros(3))
    with pytest.raises(TypeError, match="use pickle"):
        engine.to_json()
    assert isinstance(pickle.loads(pickle.dumps(engine)), dfo_ls.Engine)
    for text in ("{}", "[]", json.dumps({"format": "dfo_ls.Engine", "version": 99})):
        with pytest.raises(ValueError, match="not an engine"):
            dfo_ls.Engine.from_json(text)


@pytest.mark.parametrize("make", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executors_change_nothing(make: Any) -> None:
    serial = dfo_ls.minimize(chained, X0, batch=2, max_points=60)
    with make(2) as executor:
        same(dfo_ls.minimize(chained, X0, batch=2, max_points=60, executor=executor), serial)
        inexact = {"inexact": True, "max_points": 25}
        same(
            dfo_ls.minimize(simulator, [1.0, 1.0], executor=executor, **inexact),
            dfo_ls.minimize(simulator, [1.0, 1.0], **inexact),
        )
    rows = dfo_ls.minimize(
        lambda xs: np.array([chained(x) for x in xs]), X0, batch=2, max_points=60, vectorized=True
    )
    same(rows, serial)


def test_callback_and_limits() -> None:
    seen: list[dfo_ls.Iteration] = []
    result = dfo_ls.minimize(chained, X0, callback=lambda row: seen.append(row) or len(seen) == 5)
    assert (
        result.termination == "stopped"
        and not result.success
        and len(seen) == 5 == len(result.iterations)
    )

    def stop(row: dfo_ls.Iteration) -> None:
        raise StopIteration

    assert dfo_ls.minimize(chained, X0, callback=stop).termination == "stopped"
    assert dfo_ls.minimize(chained, X0, max_points=7).num_points == 7
    assert (
        dfo_ls.minimize(chained, X0, max_evaluations=7).message
        == "the run reached the limit max_evaluations"
    )
    assert dfo_ls.minimize(chained, X0, max_work=7).work == 7
    assert dfo_ls.minimize(chained, X0, target=1e-3).termination == "target_reached"
    slow = dfo_ls.minimize(lambda x: time.sleep(0.02) or chained(x), X0, max_time=0.1)
    # at most five evaluations end before the limit, and one after it, on every machine
    assert slow.message.endswith("max_time") and slow.num_evaluations <= 6


def test_a_spent_budget_is_extended() -> None:
    engine = dfo_ls.Engine(X0, options={"budget": {"max_points": 9}})
    assert engine.run(chained).num_points == 9
    engine.extend(max_points=500)
    same(engine.run(chained), dfo_ls.minimize(chained, X0))


def test_known_evaluations_are_not_repeated() -> None:
    known = [(X0, chained(X0)), (X0 + [0.1, 0, 0, 0], chained(X0 + [0.1, 0, 0, 0]), 0.0)]
    result = dfo_ls.minimize(chained, X0, known=known)
    assert result.success and not any((row.x == X0).all() for row in result.evaluations)


def test_an_exception_keeps_its_traceback_and_the_run() -> None:
    calls = 0

    def fun(x: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls == 13:
            raise ZeroDivisionError("in the simulator")
        return chained(x)

    with pytest.raises(ZeroDivisionError, match="in the simulator") as caught:
        dfo_ls.minimize(fun, X0)
    assert caught.traceback[-1].name == "fun"
    engine: dfo_ls.Engine = caught.value.engine  # type: ignore[attr-defined]
    same(engine.run(fun), dfo_ls.minimize(chained, X0))
    assert calls == engine.result().num_points + 1


def test_an_exception_in_parallel_loses_no_answer() -> None:
    failed = threading.Event()

    def fun(x: np.ndarray) -> np.ndarray:
        if x[1] != X0[1] and not failed.is_set():
            failed.set()
            raise ZeroDivisionError
        return chained(x)

    with ThreadPoolExecutor(2) as executor, pytest.raises(ZeroDivisionError) as caught:
        dfo_ls.minimize(fun, X0, executor=executor)
    engine: dfo_ls.Engine = caught.value.engine  # type: ignore[attr-defined]
    # the one that failed
    assert len(engine.ask()) == 1
    result, straight = engine.run(chained), dfo_ls.minimize(chained, X0)
    np.testing.assert_array_equal(result.x, straight.x)
    # in another order
    assert sorted(row.x.tolist() for row in result.evaluations) == sorted(
        row.x.tolist() for row in straight.evaluations
    )


def test_an_exception_in_a_projection_keeps_the_run() -> None:
    broken = True
    calls = 0

    def project(x: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        if broken and calls == 40:
            raise ZeroDivisionError("in the projection")
        return half_plane(x)

    def fun(x: np.ndarray) -> np.ndarray:
        return x - [3.0, 1.0]

    with pytest.raises(ZeroDivisionError, match="in the projection") as caught:
        dfo_ls.minimize(fun, [0.5, 0.5], projections=[project])
    assert caught.traceback[-1].name == "project"
    broken = False
    same(caught.value.engine.run(fun), dfo_ls.minimize(fun, [0.5, 0.5], projections=[half_plane]))  # type: ignore[attr-defined]


def test_interrupted_inside_the_function() -> None:
    calls = 0

    def fun(x: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return chained(x)

    engine = dfo_ls.Engine(X0)
    result = engine.run(fun)
    # the second point counts, although the batch was not complete
    assert result.num_evaluations == 2 == len(result.evaluations) and result.engine is engine
    best = min(
        chained(X0) @ chained(X0), chained(X0 + [0.12, 0, 0, 0]) @ chained(X0 + [0.12, 0, 0, 0])
    )
    assert result.termination == "stopped" and result.objective == pytest.approx(best)
    same(engine.run(fun), dfo_ls.minimize(chained, X0))
    with pytest.raises(KeyboardInterrupt):
        calls = 2
        dfo_ls.minimize(fun, X0)


#: Evaluates slowly, and prints a line for each evaluation and one at the end. With the argument
#: ``wait`` it never ends without a signal.
SLOW_RUN = """
import dfo_ls, itertools, sys, time
count = itertools.count()
def fun(x):
    print(".", flush=True)
    time.sleep(60 if next(count) > 7 and "wait" in sys.argv else 0.05)
    return [x[0] ** 2 + 1, x[1]]
result = dfo_ls.minimize(fun, [1.0, 1.0], max_points=12)
print(result.termination, result.num_points)
"""


def interrupted_run(*args: str, before: str = "") -> list[str]:
    """The words of the last line of a run that gets SIGINT in the middle."""
    command = [sys.executable, "-c", before + SLOW_RUN, *args]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    for _ in range(4):
        child.stdout.readline()
    child.send_signal(signal.SIGINT)
    output, _ = child.communicate(timeout=120)
    assert child.returncode == 0
    return output.splitlines()[-1].split()


@pytest.mark.skipif(os.name == "nt", reason="signals are sent differently")
@pytest.mark.usefixtures("interruptible")
def test_control_c() -> None:
    termination, points = interrupted_run("wait")
    assert termination == "stopped" and 3 <= int(points) < 12


@pytest.mark.skipif(os.name == "nt", reason="signals are sent differently")
def test_a_program_that_ignores_control_c_is_not_interrupted() -> None:
    """The package installs no handler: what the user's program or its shell decided stays."""
    ignore = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    assert interrupted_run(before=ignore) == ["exhausted", "12"]


def test_rejected_points_are_avoided() -> None:
    def fun(x: np.ndarray) -> np.ndarray:
        if x[0] > 1.4:
            raise dfo_ls.Reject("too far", work=3)
        return chained(x)

    result = dfo_ls.minimize(fun, [1.3, 1.0, -0.5, 0.7])
    rejected = [row for row in result.evaluations if row.problem]
    assert rejected and all("too far" in str(row.problem) and row.work == 3 for row in rejected)
    np.testing.assert_allclose(result.x, np.ones(4), atol=1e-6)
    failed = dfo_ls.minimize(lambda x: [math.nan, 1.0], [1.0])
    assert failed.termination == "failed" and "NaN" in failed.message and len(failed.residuals) == 0


def test_noise() -> None:
    rng = np.random.default_rng(3)
    result = dfo_ls.minimize(
        lambda x: chained(x) + 1e-3 * rng.normal(size=6),
        np.full(4, 0.5),
        noisy=True,
        max_points=400,
    )
    np.testing.assert_allclose(result.x, np.ones(4), atol=0.02)


def test_options() -> None:
    assert dfo_ls.Engine(X0, options={"model": "Linear"}).options["model"] == "Linear"
    engine = dfo_ls.Engine(
        X0,
        options={"restarts": {"num_moved": np.int64(2)}, "scaling": {"Given": np.ones(4)}},
        preset="noisy",
    )
    assert (
        engine.options["restarts"]["num_moved"] == 2
        and engine.options["restarts"]["max_unsuccessful"] == 10
    )
    for options, part in [
        ({"trust_region": {"eta3": 1}}, "trust_region.eta3"),
        ({"modell": "Linear"}, "modell"),
        ({"model": "Cubic"}, "Cubic"),
        ({"model": {"Composite": {"points_per_param": 2, "more": 1}}}, "model.Composite.more"),
        ({"trust_region": {"eta1": 2.0}}, "trust_region.eta1"),
        ({"target": math.nan}, "options"),
        ({"target": object()}, "options"),
    ]:
        with pytest.raises(ValueError, match=part):
            dfo_ls.minimize(chained, X0, options=options)
    with pytest.raises(ValueError, match="given twice"):
        dfo_ls.minimize(chained, X0, target=1.0, options={"target": 2.0})


@pytest.mark.parametrize(
    ("arguments", "error", "part"),
    [
        ({"fun": 3}, TypeError, "fun"),
        ({"callback": 3}, TypeError, "callback"),
        ({"vectorized": True, "inexact": True}, ValueError, "vectorized"),
        ({"bounds": ([0, 0], 1)}, ValueError, "lower bounds"),
        ({"bounds": 3}, TypeError, "bounds"),
        ({"bounds": (2, 1)}, ValueError, "above its upper bound"),
        ({"projections": [3]}, TypeError, r"projections\[0\]"),
        ({"projections": [lambda x: x[:1]]}, ValueError, r"projections\[0\]"),
        ({"regularizer": 3}, TypeError, "regularizer"),
        ({"known": [(X0,)]}, ValueError, r"known\[0\]"),
        ({"known": [(X0, [1.0], -1.0)]}, ValueError, "accuracy"),
        ({"max_time": -1.0}, ValueError, "max_time"),
        ({"max_points": 0}, ValueError, "max_points"),
        ({"options": 3}, TypeError, "options"),
        ({"x0": [math.inf]}, ValueError, "x0"),
        (
            {"inexact": True, "fun": lambda x, accuracy, state: [1.0]},
            TypeError,
            "residuals, achieved, state, work",
        ),
        (
            {"inexact": True, "fun": lambda x, accuracy, state: ([1.0], -1.0, None, 1)},
            ValueError,
            "accuracy",
        ),
        (
            {"inexact": True, "fun": lambda x, accuracy, state: ([1.0], 0.0, None, 1.5)},
            TypeError,
            "integer",
        ),
        (
            {"inexact": True, "fun": lambda x, accuracy, state: ([1.0], 0.0, None, -1)},
            ValueError,
            "work",
        ),
        ({"vectorized": True, "fun": lambda xs: [1.0, 2.0]}, ValueError, "one row"),
    ],
)
def test_misuse(arguments: dict[str, Any], error: type[Exception], part: str) -> None:
    with pytest.raises(error, match=part):
        dfo_ls.minimize(**{"fun": chained, "x0": X0, **arguments})


def test_threads_run_while_rust_works() -> None:
    """The GIL is released: another thread ticks in the first half of a long computation, and not
    only when it is over."""
    ticks: list[float] = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    size = 120
    rng = np.random.default_rng(0)
    engine = dfo_ls.Engine(np.zeros(size), options={"budget": {"max_points": size + 4}})
    spans = []
    thread = threading.Thread(target=tick)
    thread.start()
    while points := engine._core.ask():
        for index in range(len(points)):
            engine._answer(index, rng.normal(size=20_000))
        begin = time.perf_counter()
        engine._core.tell()
        spans.append((begin, time.perf_counter()))
    stop.set()
    thread.join()
    # a few long calls, however fast the machine is
    long = sorted(spans, key=lambda span: span[1] - span[0])[-5:]
    assert any(begin < t < (begin + end) / 2 for begin, end in long for t in ticks)
