"""The native interface in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from os import PathLike
from typing import Any

import numpy.typing as npt

from ._arrays import FloatArray, warn_if_outside
from ._engine import Engine, Regularizer
from ._numbers import count, finite
from ._options import duration, with_keywords
from ._result import Iteration, Result


def minimize(
    fun: Callable[..., Any],
    x0: npt.ArrayLike,
    *,
    args: tuple[Any, ...] = (),
    bounds: Any = None,
    projections: Iterable[Callable[[FloatArray], npt.ArrayLike]] = (),
    regularizer: Regularizer | None = None,
    known: Iterable[Sequence[Any]] = (),
    inexact: bool = False,
    vectorized: bool = False,
    executor: Executor | None = None,
    workers: int | Callable[..., Any] | None = None,
    batch: int | None = None,
    callback: Callable[[Iteration], Any] | None = None,
    save: str | PathLike[str] | None = None,
    noisy: bool = False,
    initial_radius: float | None = None,
    final_radius: float | None = None,
    target: float | None = None,
    max_points: int | None = None,
    max_evaluations: int | None = None,
    max_work: int | None = None,
    max_time: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Result:
    """Minimises the sum of squares of the residuals that ``fun(x)`` returns, without derivatives.

    >>> import dfo_ls
    >>> def rosenbrock(x):
    ...     return [10 * (x[1] - x[0] ** 2), 1 - x[0]]
    >>> result = dfo_ls.minimize(rosenbrock, [-1.2, 1.0], bounds=([-2, -2], [0.9, 2]))
    >>> result.x.round(6), round(result.objective, 6)
    (array([0.9 , 0.81]), 0.01)

    Parameters
    ----------
    fun
        ``fun(x, *args)`` returns a one-dimensional array of residuals. ``x`` is always an array.
        Residuals that are NaN or infinite, and the exception :class:`Reject`, reject a point: the
        solver avoids it. Any other exception ends the call. It has the attribute ``engine``, and
        ``error.engine.run(fun)`` continues the run.
    x0
        The start: an array, or a number for a single parameter. A start outside the feasible set is
        moved to the nearest feasible point. There is a ``RuntimeWarning`` if it is outside the
        bounds.
    args
        A tuple of further arguments for ``fun``.
    bounds
        A tuple ``(lower, upper)`` whose entries are arrays, numbers or ``None``; or a list with one
        tuple ``(low, high)`` for each parameter, where ``None`` means no bound; or SciPy's
        ``Bounds``. No point outside the bounds is ever evaluated. Equal bounds fix a parameter.
    projections
        Functions that return the nearest point of a closed convex set.
    regularizer
        A convex function to add to the sum of squares: :class:`L1`, or an object with the methods
        ``value(x)`` and ``prox(x, t)``.
    known
        Earlier evaluations, as ``(x, residuals)`` or ``(x, residuals, accuracy)``.
    inexact
        Whether ``fun`` is inexact. Then ``fun(x, accuracy, state, *args)`` returns
        ``(residuals, achieved, state, work)``. The Euclidean norm of the error of ``residuals`` is
        at most ``achieved``, which should be at most ``accuracy`` if that is possible (if
        ``accuracy`` is infinite, any accuracy will do). ``state`` is any object from which an
        evaluation at the same point or a nearby point can continue; it is ``None`` at first. With
        an ``executor``, return the name of a file instead of large data.
        ``work``, an integer, is the cost of the evaluation in a unit of your choice.
    vectorized
        Whether ``fun`` gets an array with one point in each row, and returns one row of residuals
        for each.
    executor
        An executor of ``concurrent.futures`` that evaluates independent points at the same time,
        for example a ``ProcessPoolExecutor``, or Dask's ``client.get_executor()``. The result does
        not depend on it.
    workers
        As in SciPy: a function like ``map`` that evaluates independent points, for example
        ``multiprocessing.Pool.map``; or a number of processes, where -1 means one for each
        processor. The result does not depend on it. If an evaluation raises an exception, an
        ``executor`` keeps all other evaluations; ``Pool.map`` loses those of the same call.
    batch
        The number of evaluations that run in parallel. With more than one, the solver asks for
        about as many points at once, and takes fewer rounds but more evaluations. Leave it at 1
        if evaluations run one by one.
    callback
        A function that is called with every :class:`Iteration`. The run ends when it returns a true
        value or raises ``StopIteration``.
    save
        The path of a file to which the run is saved after every evaluation. If the program is
        killed, ``Engine.load(path).run(fun, save=path)`` continues the run.
    noisy
        Whether the residuals have random noise.
    initial_radius, final_radius
        Trust-region radii in units of the parameters. The unit of a parameter is the width of its
        box, or the size of its start if it has no box.
    target
        The run ends as soon as the objective is certainly at most this value. Set it if the
        residuals vanish at the solution; without it the run continues down to rounding, or to
        ``final_radius``.
    max_points, max_evaluations, max_work, max_time
        The budget: points (default ``100 * (len(x0) + 1) * batch``), evaluations, work, seconds.
    options
        All other options: any part of the dictionary that :func:`default_options` returns.

    Ctrl-C ends the run and returns the best point: ``result.termination`` is ``"stopped"``, and
    ``result.engine.run(fun)`` continues. No evaluation is repeated.
    """
    keywords = {
        "batch": count("batch", batch),
        "trust_region.initial_radius": finite("initial_radius", initial_radius),
        "trust_region.final_radius": finite("final_radius", final_radius),
        "target": finite("target", target),
        "budget.max_points": count("max_points", max_points),
        "budget.max_evaluations": count("max_evaluations", max_evaluations),
        "budget.max_work": count("max_work", max_work),
        "budget.max_time": duration(max_time),
    }
    engine = Engine(
        x0,
        bounds=bounds,
        projections=projections,
        regularizer=regularizer,
        known=known,
        options=with_keywords(options, keywords),
        preset="noisy" if noisy else "default",
    )
    if engine._bounds is not None:
        warn_if_outside(engine._x0, engine._bounds)
    return engine.run(
        fun,
        args=args,
        inexact=inexact,
        vectorized=vectorized,
        executor=executor,
        workers=workers,
        callback=callback,
        save=save,
    )
