"""The loop around the engine, which evaluates the user's function and watches the time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Executor, ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from multiprocessing.pool import Pool, ThreadPool
from multiprocessing.reduction import ForkingPickler
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _dask
from ._arrays import FloatArray, numbers, residual_vector
from ._numbers import integer, real
from ._result import Iteration, Result

if TYPE_CHECKING:
    from ._engine import Engine


class Reject(Exception):
    """Raised by the user's function if it cannot evaluate a point. The solver avoids the point.

    >>> import dfo_ls
    >>> def fun(x):
    ...     if x[0] < 0:
    ...         raise dfo_ls.Reject("the simulator wants positive numbers")
    ...     return [x[0] ** 0.5 - 2]
    >>> dfo_ls.minimize(fun, [0.1]).x.round(6)
    array([4.])
    """

    def __init__(self, reason: str = "the point was rejected", work: int = 0) -> None:
        super().__init__(reason, work)
        self.reason = str(reason)
        self.work = integer("work", work)


class _Clock:
    """A limit on the time of a run."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def is_over(self) -> bool:
        return time.monotonic() >= self._end


Answers = Callable[["Engine", Sequence[FloatArray], _Clock], None]


def run(
    engine: Engine,
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    inexact: bool,
    vectorized: bool,
    executor: Executor | None,
    workers: int | Callable[..., Any] | None,
    callback: Callable[[Iteration], Any] | None,
    save: str | PathLike[str] | None,
) -> Result:
    """Runs to the end. The attribute ``engine`` of an exception holds the run."""
    if not callable(fun):
        raise TypeError(f"fun must be a function, but is {fun!r}")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function, but is {callback!r}")
    if not isinstance(args, tuple):
        raise TypeError(f"args must be a tuple, but is {args!r}: write args=({args!r},)")
    if args:
        fun = _WithArguments(fun, args)
    if executor is not None and workers is not None:
        raise ValueError("executor and workers are both given: pass one of them")
    processes = _num_processes(workers)
    if processes not in (None, 1) or _has_processes(executor) or _has_processes(workers):
        _check_sendable(fun)
    with ExitStack() as stack:
        if processes not in (None, 1):
            most = None if processes == -1 else processes
            executor = stack.enter_context(ProcessPoolExecutor(most))
        like_map = workers if callable(workers) else None
        answers = _answers(fun, inexact, vectorized, executor, like_map)
        if engine.termination == "stopped":
            engine.extend()
        # reports a file that cannot be written before the first evaluation
        engine._save_to(None if save is None else Path(save))
        stack.callback(engine._save_to, None)
        try:
            # A run that was saved within a batch has answers, which it takes first.
            _tell(engine, callback)
            _loop(engine, answers, callback)
        except BaseException as error:
            if not is_handled(error, engine):
                raise
        engine._write()
    return engine.result()


class _WithArguments:
    """A function with further arguments. Unlike a closure, it can be sent to other processes."""

    def __init__(self, fun: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.fun = fun
        self.args = args

    def __call__(self, *given: Any) -> Any:
        return self.fun(*given, *self.args)


def _num_processes(workers: Any) -> int | None:
    """Returns the number of processes that ``workers`` asks for, where -1 means all processors.

    For a function like ``map`` it returns ``None``.
    """
    if workers is None or callable(workers):
        return None
    if not isinstance(workers, (int, np.integer)):
        hint = "executor=" if hasattr(workers, "submit") else "pool.map"
        raise TypeError(
            "workers must be a function like map, or a number of processes, "
            f"but is {workers!r} (did you mean {hint}?)"
        )
    if workers != -1 and workers < 1:
        raise ValueError(
            f"workers is {workers}, but must be positive, or -1 for one process per processor"
        )
    return int(workers)


def _has_processes(executor: Any) -> bool:
    """Whether an executor, or the method of a pool, evaluates in other processes of Python."""
    pool = getattr(executor, "__self__", executor)
    return isinstance(pool, (ProcessPoolExecutor, Pool)) and not isinstance(pool, ThreadPool)


def _check_sendable(fun: Callable[..., Any]) -> None:
    """Refuses a function that cannot be sent to other processes."""
    try:
        ForkingPickler.dumps(fun)
    except Exception as error:
        raise TypeError(
            f"fun and args cannot be sent to other processes ({error}): define fun with def at the "
            "top level of a module, with args that can be pickled, or evaluate in threads, "
            "executor=concurrent.futures.ThreadPoolExecutor()"
        ) from error


def is_handled(error: BaseException, engine: Engine) -> bool:
    """Takes the answers so far after an exception, and returns whether the exception is handled.

    Ctrl-C is handled if there is a best point: the run stops. Other exceptions get the attribute
    ``engine``.
    """
    try:
        engine._core.tell()
    except Exception:
        # A projection or a regulariser raised an exception. The engine keeps the answers, and the
        # user sees the first exception.
        pass
    engine._round += 1
    if isinstance(error, KeyboardInterrupt) and engine.best_objective is not None:
        engine.stop()
        return True
    try:
        error.engine = engine  # type: ignore[attr-defined]
    except AttributeError:
        return False
    if hasattr(error, "add_note"):
        error.add_note(
            "Nothing is lost: error.engine holds all evaluations, "
            "and error.engine.run(fun) continues the run, with any executor."
        )
    return False


def _loop(engine: Engine, answers: Answers, callback: Callable[[Iteration], Any] | None) -> None:
    limit = engine.options["budget"]["max_time"]
    clock = _Clock(math.inf if limit is None else limit["secs"] + limit["nanos"] * 1e-9)
    while points := engine._core.ask():
        answers(engine, points, clock)
        is_over = clock.is_over()
        _tell(engine, callback)
        if is_over:
            engine._core.stop("time")


def _tell(engine: Engine, callback: Callable[[Iteration], Any] | None) -> None:
    if callback is None:
        engine._tell()
        return
    for iteration in engine.tell():
        if _wants_to_stop(callback, iteration):
            engine.stop()


def _wants_to_stop(callback: Callable[[Iteration], Any], iteration: Iteration) -> bool:
    try:
        return bool(callback(iteration))
    except StopIteration:
        return True


def _answers(
    fun: Callable[..., Any],
    inexact: bool,
    vectorized: bool,
    executor: Executor | None,
    workers: Callable[..., Any] | None,
) -> Answers:
    if executor is not None and not hasattr(executor, "submit"):
        raise TypeError(f"executor must be an executor of concurrent.futures, but is {executor!r}")
    if vectorized and (inexact or executor is not None or workers is not None):
        other = "inexact=True" if inexact else "executor or workers"
        raise ValueError(f"vectorized=True cannot be combined with {other}")
    if vectorized:
        return lambda engine, points, _: _vectorized(engine, fun, points)
    if executor is not None:
        return lambda engine, points, clock: _parallel(
            engine, fun, points, clock, inexact, executor
        )
    if workers is not None:
        return lambda engine, points, clock: _mapped(engine, fun, points, clock, inexact, workers)
    if inexact:
        return lambda engine, _, clock: _inexact(engine, fun, clock)
    return lambda engine, points, clock: _exact(engine, fun, points, clock)


def _exact(
    engine: Engine, fun: Callable[..., Any], points: Sequence[FloatArray], clock: _Clock
) -> None:
    for index, x in enumerate(points):
        _take(engine, index, False, fun, x)
        if clock.is_over():
            break


def _inexact(engine: Engine, fun: Callable[..., Any], clock: _Clock) -> None:
    for index, job in enumerate(engine.ask()):
        _take(engine, index, True, fun, job.x, job.accuracy, job.state)
        if clock.is_over():
            break


def _parallel(
    engine: Engine,
    fun: Callable[..., Any],
    points: Sequence[FloatArray],
    clock: _Clock,
    inexact: bool,
    executor: Executor,
) -> None:
    is_dask = _dask.client_of(executor) is not None
    submit = _dask.submit(executor, fun) if is_dask else partial(executor.submit, fun)
    if inexact:
        futures = [submit(job.x, job.accuracy, job.state) for job in engine.ask()]
    else:
        futures = [submit(x) for x in points]
    failure: BaseException | None = None
    is_interrupted = is_over = False
    for index, future in enumerate(futures):
        if is_over or is_interrupted or clock.is_over():
            for later in () if is_over else futures[index:]:
                later.cancel()
            is_over = True
            # wait for evaluations that have begun, except after Ctrl-C
            if future.cancelled() or is_interrupted and not future.done():
                continue
        try:
            _take(engine, index, inexact, future.result)
        except CancelledError:
            failure = failure or CancelledError(
                "the executor cancelled evaluations: did its cluster or its scheduler end?"
            )
        except Exception as error:
            # keep the results of the other evaluations
            failure = failure or error
        except BaseException as error:
            failure, is_interrupted = error, True
    if failure is not None:
        raise failure


class _Numbered:
    """A function of numbered points, so that ``workers`` may return results in any order."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun

    def __call__(self, task: tuple[int, tuple[Any, ...]]) -> tuple[int, Any]:
        index, args = task
        try:
            return index, self.fun(*args)
        except Reject as reject:
            return index, reject


def _mapped(
    engine: Engine,
    fun: Callable[..., Any],
    points: Sequence[FloatArray],
    clock: _Clock,
    inexact: bool,
    workers: Callable[..., Any],
) -> None:
    tasks: list[tuple[int, tuple[Any, ...]]]
    if inexact:
        jobs = engine.ask()
        tasks = [(job._index, (job.x, job.accuracy, job.state)) for job in jobs]
    else:
        tasks = [(index, (x,)) for index, x in enumerate(points)]
    missing = set(range(len(tasks)))
    found = workers(_Numbered(fun), tasks)
    if not hasattr(found, "__iter__"):
        raise TypeError(f"workers must return the results like map, but returned {found!r}")
    for entry in found:
        if not isinstance(entry, tuple) or len(entry) != 2 or entry[0] not in missing:
            raise TypeError(f"workers must return the results like map, but one is {entry!r}")
        index, answer = entry
        missing.remove(index)
        _take(engine, index, inexact, _returned, answer)
        if clock.is_over():
            return
    if missing:
        count = len(tasks) - len(missing)
        raise TypeError(f"workers returned {count} results for {len(tasks)} points")


def _returned(answer: Any) -> Any:
    if isinstance(answer, Reject):
        raise answer
    return answer


def _vectorized(engine: Engine, fun: Callable[..., Any], points: Sequence[FloatArray]) -> None:
    found = numbers("the value that the function returned", fun(np.array(points)))
    if found.ndim != 2 or len(found) != len(points):
        raise ValueError(
            "a vectorized function must return one row of residuals for each point, "
            f"shape ({len(points)}, ...), but returned shape {found.shape}"
        )
    for index, row in enumerate(found):
        engine._answer(index, residual_vector(row))


def _take(engine: Engine, index: int, inexact: bool, call: Callable[..., Any], *args: Any) -> None:
    """Answers one job with the return value of ``call``, or with its :class:`Reject`."""
    try:
        found = call(*args)
    except Reject as reject:
        engine._reject(index, reject.reason, reject.work)
        return
    if not inexact:
        engine._answer(index, residual_vector(found))
        return
    if not isinstance(found, tuple) or len(found) != 4:
        raise TypeError(
            "an inexact function must return (residuals, achieved, state, work), "
            f"but returned {found!r}"
        )
    residuals, achieved, state, work = found
    engine._answer(
        index, residual_vector(residuals), real("achieved", achieved), state, integer("work", work)
    )
