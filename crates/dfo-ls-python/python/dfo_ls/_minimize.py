"""The native interface in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy.typing as npt

from ._arrays import FloatArray, inside
from ._engine import Engine, Regularizer
from ._numbers import count, finite
from ._options import duration, with_keywords
from ._result import Iteration, Result


def minimize(
    fun: Callable[..., Any],
    x0: npt.ArrayLike,
    *,
    bounds: Any = None,
    projections: Iterable[Callable[[FloatArray], npt.ArrayLike]] = (),
    regularizer: Regularizer | None = None,
    known: Iterable[Sequence[Any]] = (),
    inexact: bool = False,
    vectorized: bool = False,
    executor: Executor | None = None,
    batch: int | None = None,
    callback: Callable[[Iteration], Any] | None = None,
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
        ``fun(x)`` returns a one-dimensional array of residuals. Residuals that are NaN or infinite, or the exception :class:`Reject`,
        refuse a point: the solver goes elsewhere. Any other exception ends the call; it has the attribute ``engine``, with which
        the run goes on (``error.engine.run(fun)``).
    x0
        Where to begin. Outside the feasible set it is moved to the nearest point inside; outside the bounds with a ``RuntimeWarning``.
    bounds
        A tuple ``(lower, upper)``, each an array, a number, or ``None``; or SciPy's ``Bounds``. No point outside is ever evaluated; equal bounds fix a parameter.
    projections
        Functions that return the nearest point of a closed convex set.
    regularizer
        What is added to the sum of squares: :class:`L1`, or an object with ``value(x)`` and ``prox(x, t)``.
    known
        Evaluations made before, as ``(x, residuals)`` or ``(x, residuals, accuracy)``.
    inexact
        ``fun(x, accuracy, state)`` returns ``(residuals, achieved, state, work)``: residuals with an error of Euclidean norm at most
        ``achieved``, as ``accuracy`` asks for if that is possible (infinity: anything will do). ``state`` is whatever lets an evaluation go on from where it, or one
        nearby, has stopped; ``None`` at first. ``work``, a whole number, is what it has cost in your unit.
    vectorized
        ``fun`` gets an array with one point in each row, and returns one row of residuals for each.
    executor
        Evaluates points that are wanted at the same time, for example a ``ProcessPoolExecutor``. The result does not depend on it.
    batch
        How many points that improve the geometry are wanted at the same time: as many as run in parallel.
    callback
        Gets every :class:`Iteration`. The run ends when it returns something true or raises ``StopIteration``.
    noisy
        For residuals with random noise.
    initial_radius, final_radius
        In units of the parameters: the width of the box, or else the size of ``x0``.
    target
        Stop as soon as the objective is certainly at most this. Give it where residuals vanish at the solution: without it the run
        goes on down to rounding, or to ``final_radius``.
    max_points, max_evaluations, max_work, max_time
        The budget: different points (default ``100 * (len(x0) + 1)``), evaluations, work, seconds.
    options
        Everything else: parts of what :func:`default_options` shows.

    Ctrl-C ends the run, and returns the best point: ``result.termination`` is ``"stopped"``, and
    ``result.engine.run(fun)`` goes on. No evaluation is repeated.
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
        # it says so if it moves the point
        inside(engine._x0, engine._bounds)
    return engine.run(
        fun, inexact=inexact, vectorized=vectorized, executor=executor, callback=callback
    )
