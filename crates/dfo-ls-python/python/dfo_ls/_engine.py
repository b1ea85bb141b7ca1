"""The engine, which hands out evaluations and takes the answers. The only functions of the user
that it calls are projections and regularisers."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from . import _run
from ._arrays import FloatArray, counted, entries, limits, residual_vector, start_vector, vector
from ._dfo_ls import Core
from ._numbers import count, integer, real
from ._options import Preset, as_json, completed, duration, explained
from ._result import Evaluated, Iteration, Result
from ._saved import read, write

_FORMAT = "dfo_ls.Engine"
_VERSION = 2


class Regularizer(Protocol):
    """A convex function h that is given by its value and its proximal map."""

    def value(self, x: FloatArray) -> float:
        """Returns h(x)."""

    def prox(self, x: FloatArray, t: float) -> npt.ArrayLike:
        """Returns the minimiser of h(y) + ||y - x||^2 / (2 t) over y."""


class L1:
    """The regulariser ``weight * ||x||_1``, which favours parameters that are exactly zero.

    >>> import dfo_ls
    >>> dfo_ls.minimize(lambda x: x - [3.0, 1.0], [0.5, 0.5], regularizer=dfo_ls.L1(3.0)).x.round(6)
    array([1.5, 0. ])
    """

    def __init__(self, weight: float) -> None:
        self.weight = real("weight", weight)
        if not 0 <= self.weight < math.inf:
            raise ValueError(f"weight is {weight}, but must be zero or positive and finite")

    def value(self, x: FloatArray) -> float:
        """Returns ``weight * ||x||_1``."""
        return self.weight * float(np.abs(x).sum())

    def prox(self, x: FloatArray, t: float) -> FloatArray:
        """Moves every entry towards zero by ``weight * t``."""
        shrunk: FloatArray = np.sign(x) * np.maximum(np.abs(x) - self.weight * t, 0.0)
        return shrunk


class _Checked:
    """A function of the user that Rust calls. Its return value is checked in Python."""

    def __init__(self, name: str, call: Callable[..., Any]) -> None:
        if not callable(call):
            raise TypeError(f"{name} must be a function, but is {call!r}")
        self.name = name
        self.call = call


class _Vector(_Checked):
    def __call__(self, x: FloatArray, *args: float) -> FloatArray:
        found = vector(f"the value that {self.name} returned", self.call(x, *args))
        if found.shape != x.shape:
            number = counted(len(found), "entry", "entries")
            raise ValueError(f"{self.name} returned {number} for a point with {len(x)}")
        return found


class _Number(_Checked):
    def __call__(self, x: FloatArray) -> float:
        return real(f"the value that {self.name} returned", self.call(x))


class Job:
    """One evaluation that the engine requests."""

    __slots__ = (
        "x",
        "accuracy",
        "start",
        "shares",
        "sample",
        "purpose",
        "_engine",
        "_index",
        "_round",
    )

    def __init__(self, engine: Engine, index: int, x: FloatArray) -> None:
        accuracy, start, tokens, sample, purpose = engine._core.details(index)
        #: The point to evaluate.
        self.x = x
        #: The requested bound on the Euclidean norm of the error of the residuals. Infinite if any
        #: accuracy will do. A worse answer is accepted.
        self.accuracy = accuracy
        shares = [(weight, engine._states.get(token)) for weight, token in tokens]
        known = any(state is not None for _, state in shares)
        #: The kind of start: ``cold`` (no state), ``near`` (the state of another point), ``refine``
        #: (the state of this point) or ``blend`` (a combination of states, see ``shares``).
        self.start = start if known else "cold"
        #: Pairs of a weight and a state to start from, the best first. The weights add up to 1.
        self.shares = shares if known else []
        #: The number of the sample of a noisy simulator, counted from zero.
        self.sample = sample
        #: The purpose: ``initial``, ``trial``, ``geometry`` or ``sharpen``.
        self.purpose = purpose
        self._engine = engine
        self._index = index
        self._round = engine._round

    @property
    def state(self) -> Any:
        """The best state to start from; ``None`` if there is none."""
        return self.shares[0][1] if self.shares else None

    def answer(
        self, residuals: npt.ArrayLike, achieved: float = 0.0, state: Any = None, work: int = 1
    ) -> None:
        """Answers with residuals.

        ``achieved`` bounds the Euclidean norm of their error. ``state`` is any object from which
        the evaluation can be continued. ``work`` is the cost of the evaluation.
        """
        self._check()
        self._engine._answer(
            self._index,
            residual_vector(residuals),
            real("achieved", achieved),
            state,
            integer("work", work),
        )

    def reject(self, reason: str, work: int = 0) -> None:
        """Answers that this point cannot be evaluated. The solver avoids it."""
        self._check()
        self._engine._reject(self._index, str(reason), integer("work", work))

    def _check(self) -> None:
        if self._round != self._engine._round:
            raise RuntimeError("this job is older than the last tell(): call ask() again")

    def __repr__(self) -> str:
        return (
            f"Job(x={self.x!r}, accuracy={self.accuracy!r}, "
            f"start={self.start!r}, purpose={self.purpose!r})"
        )


class Engine:
    """Minimises a sum of squares. The caller decides where and when to evaluate the residuals.

    >>> import dfo_ls
    >>> engine = dfo_ls.Engine([-1.2, 1.0])
    >>> while jobs := engine.ask():
    ...     for job in jobs:
    ...         x, y = job.x
    ...         job.answer([10 * (y - x * x), 1 - x])
    ...     iterations = engine.tell()
    >>> engine.termination, engine.best_x.round(6)
    ('radius_reached', array([1., 1.]))

    An engine can be pickled at any time, together with the states of the simulator. The loaded
    engine continues bit for bit. ``to_json()`` does the same if JSON can hold the states. The
    arguments are those of :func:`minimize`; ``preset`` is a preset of :func:`default_options`.
    """

    def __init__(
        self,
        x0: npt.ArrayLike,
        num_residuals: int | None = None,
        *,
        bounds: Any = None,
        projections: Iterable[Callable[[FloatArray], npt.ArrayLike]] = (),
        regularizer: Regularizer | None = None,
        known: Iterable[Sequence[Any]] = (),
        options: Mapping[str, Any] | None = None,
        preset: Preset = "default",
    ) -> None:
        self._x0 = start_vector(x0)
        self._bounds = limits(bounds, len(self._x0))
        self._projections = entries("projections", "functions", projections)
        self._regularizer = regularizer
        self._options = completed(preset, options)
        given = entries("known", "evaluations", known)
        evaluations = [_known(index, entry) for index, entry in enumerate(given)]
        if num_residuals is None and evaluations:
            num_residuals = len(evaluations[0][1])
        #: Whether the number of residuals is still unknown.
        self._probing = num_residuals is None
        number = 1 if num_residuals is None else integer("num_residuals", num_residuals)
        if number < 1:
            raise ValueError(f"num_residuals is {number}, but must be positive")
        for index, (x, residuals, _) in enumerate(evaluations):
            for place, found, expected in ((0, len(x), len(self._x0)), (1, len(residuals), number)):
                if found != expected:
                    raise ValueError(
                        f"known[{index}][{place}] has {counted(found, 'entry', 'entries')}, "
                        f"but must have {expected}"
                    )
        self._states: dict[int, Any] = {}
        self._next_state = 1
        self._round = 0
        self._told = 0
        #: The file to which a run saves its engine after every answer.
        self._path: Path | None = None
        self._core = self._new_core(number, evaluations)

    def _new_core(
        self, num_residuals: int, known: Sequence[tuple[FloatArray, FloatArray, float]] = ()
    ) -> Core:
        code = self._code()
        try:
            return Core(self._x0, num_residuals, self._options, self._bounds, *code, known)
        except ValueError as error:
            message = explained(str(error))
            if message == str(error):
                raise
            raise ValueError(message) from None

    def _code(self) -> tuple[list[_Vector], tuple[_Number, _Vector] | None]:
        projections = [
            _Vector(f"projections[{i}]", call) for i, call in enumerate(self._projections)
        ]
        if self._regularizer is None:
            return projections, None
        for method in ("value", "prox"):
            if not hasattr(self._regularizer, method):
                raise TypeError(
                    "regularizer must have the methods value and prox, "
                    f"but is {self._regularizer!r}"
                )
        value = _Number("regularizer.value", self._regularizer.value)
        return projections, (value, _Vector("regularizer.prox", self._regularizer.prox))

    # ask and tell

    def ask(self) -> list[Job]:
        """Returns the evaluations that are needed now, which are independent of each other.

        The list is empty when the run has ended.
        """
        return [Job(self, index, x) for index, x in enumerate(self._core.ask())]

    def tell(self) -> list[Iteration]:
        """Takes the answers and returns the iterations that they completed.

        ``ask()`` returns the jobs without an answer again.
        """
        first = self._told
        if self._tell() == first:
            return []
        return [Iteration(**row) for row in self._core.iterations(first)]

    def _answer(
        self,
        index: int,
        residuals: FloatArray,
        achieved: float = 0.0,
        state: Any = None,
        work: int = 1,
        samples: int = 1,
    ) -> None:
        if self._probing:
            self._begin(len(residuals))
        elif len(residuals) != self._core.num_residuals:
            residual_vector(residuals, self._core.num_residuals)
        if work < 0:
            raise ValueError(f"work is {work}, but must not be negative")
        token = 0
        if state is not None:
            token = self._next_state
            self._next_state += 1
            self._states[token] = state
        self._core.answer(index, residuals, achieved, token, work, samples)
        self._write()

    def _reject(self, index: int, reason: str, work: int) -> None:
        self._core.reject(index, reason, work)
        self._write()

    def _begin(self, num_residuals: int) -> None:
        """Sets the number of residuals, which the first answer shows.

        Until then, the engine is one for a single residual. The new one asks for the same points.
        """
        if num_residuals != 1:
            self._core = self._new_core(num_residuals)
        self._probing = False

    def _tell(self) -> int:
        self._told = self._core.tell()
        self._round += 1
        if self._states:
            used = set(self._core.tokens())
            self._states = {token: state for token, state in self._states.items() if token in used}
        return self._told

    def run(
        self,
        fun: Callable[..., Any],
        *,
        args: tuple[Any, ...] = (),
        inexact: bool = False,
        vectorized: bool = False,
        executor: Executor | None = None,
        workers: int | Callable[..., Any] | None = None,
        callback: Callable[[Iteration], Any] | None = None,
        save: str | os.PathLike[str] | None = None,
    ) -> Result:
        """Evaluates ``fun`` until the run ends, or until Ctrl-C. A stopped run is continued.

        The arguments are those of :func:`minimize`.

        >>> import dfo_ls
        >>> def fun(x):
        ...     return [x[0] ** 2 - 2]
        >>> engine = dfo_ls.Engine([1.0], options={"budget": {"max_points": 4}})
        >>> engine.run(fun).termination
        'exhausted'
        >>> engine.extend(max_points=100)
        >>> engine.run(fun).x.round(6)
        array([1.414214])
        """
        return _run.run(self, fun, args, inexact, vectorized, executor, workers, callback, save)

    def stop(self) -> None:
        """Ends the run. ``extend()`` or ``run()`` continues it."""
        self._core.stop("stopped")

    def extend(
        self,
        max_points: int | None = None,
        max_evaluations: int | None = None,
        max_work: int | None = None,
        max_time: float | None = None,
    ) -> None:
        """Continues a run that was stopped or has spent its budget.

        The limits are for the whole run, including its evaluations so far. Limits that are not
        given stay the same.
        """
        given = {
            "max_points": count("max_points", max_points),
            "max_evaluations": count("max_evaluations", max_evaluations),
            "max_work": count("max_work", max_work),
            "max_time": duration(max_time),
        }
        budget = self.options["budget"] | {
            key: value for key, value in given.items() if value is not None
        }
        self._core.extend(as_json(budget))
        self._round += 1

    # read the state

    @property
    def termination(self) -> str | None:
        """The reason why the run ended, as in :class:`Result`; ``None`` while it runs."""
        ended = self._core.termination
        return ended[0] if ended else None

    @property
    def best_x(self) -> FloatArray | None:
        """The best point so far."""
        return self._core.best_x

    @property
    def best_objective(self) -> float | None:
        """The computed objective at the best point so far."""
        return self._core.best_objective

    @property
    def states(self) -> list[Any]:
        """The states of the simulator that a later job may start from.

        If states are names of large data, for example paths, all other data can be deleted between
        ``tell()`` and ``ask()``, and in a ``callback``.
        """
        return list(self._states.values())

    @property
    def options(self) -> dict[str, Any]:
        """All options, including those that were derived from the problem."""
        options: dict[str, Any] = json.loads(self._core.options)
        return options

    @property
    def num_residuals(self) -> int | None:
        """The number of residuals; ``None`` before the first answer."""
        return None if self._probing else self._core.num_residuals

    def result(self) -> Result:
        """Returns the outcome so far. A run that has not ended counts as stopped."""
        return Result(
            **self._core.report(),
            iterations=[Iteration(**row) for row in self._core.iterations(0)],
            evaluations=[Evaluated(**row) for row in self._core.evaluations(0)],
            engine=self,
        )

    # save and resume

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Engine:
        """Restores an engine from the file that ``save=`` wrote.

        The file is a pickle: load only files that you trust.

        >>> import dfo_ls, os, tempfile
        >>> def fun(x):
        ...     return [x[0] ** 2 - 2]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "fit.run")
        ...     first = dfo_ls.minimize(fun, [1.0], max_points=4, save=path)
        ...     engine = dfo_ls.Engine.load(path)
        >>> engine.extend(max_points=100)
        >>> engine.run(fun).x.round(6)
        array([1.414214])
        """
        return read(path, cls)

    def _save_to(self, path: Path | None) -> None:
        """Saves the engine to ``path`` now and after every answer; never, if ``path`` is None."""
        self._path = path
        self._write()

    def _write(self) -> None:
        if self._path is not None:
            write(self, self._path)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_core": self._core.save(), "_path": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._core = Core.load(state["_core"], len(self._x0), self._bounds, *self._code())

    def to_json(self) -> str:
        """Returns the engine as text. JSON must be able to hold the states of the simulator.

        >>> import dfo_ls
        >>> engine = dfo_ls.Engine([1.0])
        >>> engine.ask()[0].answer([0.5])
        >>> again = dfo_ls.Engine.from_json(engine.to_json())
        >>> [job.x.tolist() for job in again.ask()] == [job.x.tolist() for job in engine.ask()]
        True
        """
        try:
            states = json.dumps(self._states)
        except TypeError as error:
            raise TypeError(
                f"a state of the simulator cannot be saved as JSON ({error}): use pickle"
            ) from None
        bounds = (
            None
            if self._bounds is None
            else [[_finite(entry) for entry in side] for side in self._bounds]
        )
        head = {
            "format": _FORMAT,
            "version": _VERSION,
            "x0": self._x0.tolist(),
            "bounds": bounds,
            "options": json.loads(self._options),
            "probing": self._probing,
            "next_state": self._next_state,
            "told": self._told,
        }
        return f'{json.dumps(head)[:-1]}, "states": {states}, "engine": {self._core.save()}}}'

    @classmethod
    def from_json(
        cls,
        text: str,
        *,
        projections: Iterable[Callable[[FloatArray], npt.ArrayLike]] = (),
        regularizer: Regularizer | None = None,
    ) -> Engine:
        """Restores an engine from the text of ``to_json()``.

        Projections and the regulariser are code, which the text does not contain: pass them again.
        """
        saved = json.loads(text)
        if not isinstance(saved, dict) or (saved.get("format"), saved.get("version")) != (
            _FORMAT,
            _VERSION,
        ):
            raise ValueError("the text is not an engine saved by this version of dfo_ls")
        engine = cls.__new__(cls)
        low_high = saved["bounds"]
        engine.__setstate__(
            {
                "_x0": vector("x0", saved["x0"]),
                "_bounds": None
                if low_high is None
                else (_side(low_high[0], -math.inf), _side(low_high[1], math.inf)),
                "_projections": entries("projections", "functions", projections),
                "_regularizer": regularizer,
                "_options": as_json(saved["options"]),
                "_probing": saved["probing"],
                "_states": {int(token): state for token, state in saved["states"].items()},
                "_next_state": saved["next_state"],
                "_round": 0,
                "_told": saved["told"],
                "_path": None,
                "_core": json.dumps(saved["engine"]),
            }
        )
        return engine

    def __repr__(self) -> str:
        return (
            f"Engine(num_params={len(self._x0)}, best_objective={self.best_objective}, "
            f"termination={self.termination!r})"
        )


def _known(index: int, entry: Sequence[Any]) -> tuple[FloatArray, FloatArray, float]:
    if not hasattr(entry, "__len__") or len(entry) not in (2, 3):
        raise ValueError(
            f"known[{index}] must be (x, residuals) or (x, residuals, accuracy), but is {entry!r}"
        )
    x, residuals = vector(f"known[{index}][0]", entry[0]), vector(f"known[{index}][1]", entry[1])
    return x, residuals, real(f"known[{index}][2]", entry[2]) if len(entry) == 3 else 0.0


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _side(entries: list[float | None], missing: float) -> FloatArray:
    return np.array([missing if entry is None else entry for entry in entries], dtype=float)
