"""A run of the solver, which asks for reconstructions and gets them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from . import _bilevel
from ._arguments import Arguments, takes
from ._arrays import about, by_name, check_same, counted, flat, images
from ._camera import Poisson
from ._convex import FunctionRun, Images, Reject, StronglyConvex
from ._core import Core
from ._directory import OF_FUNCTIONS, describe
from ._family_run import FamilyRun, Prepared
from ._mpi import Ranks
from ._result import Result, f_error
from ._settings import (
    TV,
    Penalty,
    accuracy_iterations,
    check_criterion,
    check_method,
    check_solver,
    named,
    names,
    number,
    one_of,
    pair,
    positive,
    positive_int,
    unsigned,
)

# Arguments that models written in Python do not have.
NOT_FOR_PYTHON: Final = (
    "filters",
    "patches",
    "fixed",
    "kernel",
    "boundary",
    "mask",
    "image_range",
    "criterion",
    "noise",
    "colour",
    "channel_axis",
    "slices",
    "threads",
)
NO_MEANING: Final = "has no meaning for a model written in Python"


class Run:
    """A run of `learn`, step by step.

    It takes the arguments of `learn`, except for `callback` and `progress`.

    >>> import bilevel
    >>> truth = bilevel.phantoms.box_functions(3, 32)
    >>> run = bilevel.Run(truth, bilevel.add_noise(truth, 0.1), learn=("alpha",))
    >>> while run.step():
    ...     if run.f < 0.5:
    ...         break
    >>> result = run.result()
    >>> result.f == run.f
    True

    With `out`, every step is saved in that directory, and `Run.resume` continues the run.

    With `comm`, all ranks call the methods of their runs in the same order. A signal on one of them
    raises `KeyboardInterrupt` on all, after the step.
    """

    theta: NDArray[np.float64] | None
    """The best parameters so far, as the solver sees them; `None` before the first step."""
    params: dict[str, float | NDArray[np.float64]]
    """The values of the best parameters so far, by name: a number, or an array for a block."""
    f: float
    """The objective at the best parameters so far, with the reconstructions as computed."""
    f_error: float
    """The largest possible distance of `f` from the objective with exact reconstructions."""
    num_points: int
    """The number of points, that is, of different values of the parameters that were tried."""
    work: int
    """The cost so far in gradients of the reconstruction problems.

    For a model that is a function, it is the cost that the function has reported.
    """

    @takes(Arguments)
    def __init__(self, given: Arguments) -> None:
        self._start(given)

    def _start(self, given: Arguments) -> None:
        """Check the arguments, and start the run."""
        self._ranks = Ranks.of(given.comm)
        with self._ranks.waiting_signals():
            with self._ranks.agreed():
                self._begin(positive_int("max_points", given.max_points), given.out)
                start = self._checked(given)
            self._core = start()
        self._describe()

    def _checked(self, given: Arguments) -> Callable[[], Core]:
        """Check the arguments on this rank alone, and return a function that starts the run."""
        model, ranks = given.model, self._ranks
        loss = {
            "scale": one_of("objective", given.objective, ("mean", "sum")),
            "residuals": one_of("residuals", given.residuals, ("image", "pixel")),
        }
        level = None if isinstance(given.noise, Poisson) else given.noise
        criterion = check_criterion(given, level)
        solver: dict[str, Any] = {
            "kind": check_solver(given.solver),
            "max_points": self._budget,
            "seed": unsigned("seed", given.seed),
            "kappa": positive("kappa", given.kappa),
            "method": check_method(given.method),
            "iterations": accuracy_iterations(given.accuracy),
        }
        fixed, threads = given.fixed, given.threads
        if fixed is not None and not isinstance(fixed, Mapping):
            raise TypeError(f"fixed must be a dictionary such as {{'xi': 1e-3}}, not {fixed!r}")
        given = replace(given, fixed=fixed or None)
        if threads is not None:
            threads = positive_int("threads", threads)
        self._about: dict[str, Any] = {"objective": given.objective, "method": given.method}
        if callable(model):
            given.refuse((*NOT_FOR_PYTHON, "validation", "accuracy", "method"), NO_MEANING)
            if ranks.comm is not None:
                raise ValueError(
                    "comm cannot be used with a model that is a function: let your function "
                    "compute its images on all ranks, and call learn on one of them"
                )
            if given.out is not None:
                raise ValueError(
                    "out cannot be used with a model that is a function, because its states "
                    "are Python objects: do not pass out, and let your function save what it "
                    "needs"
                )
            if solver["kind"] == "gradient":
                raise ValueError(
                    "solver is 'gradient', but a model that is a function has no derivatives: "
                    "use 'auto' or 'derivative-free'"
                )
            limits = {name: solver[name] for name in ("max_points", "seed")}
            self._about.update(model="python", fixed={}, family=None, kernel=None, mask=None)
            return partial(ForeignRun, model, given, {**loss, **limits})
        if isinstance(model, StronglyConvex):
            given.refuse(NOT_FOR_PYTHON, NO_MEANING)
            # the limit on points may change, and is kept apart
            max_points = solver.pop("max_points")
            l1 = Penalty.read(given.penalty, ("l1",), "python").l1
            settings = {
                "parameters": parameters_of(given),
                "spec": {
                    "objective": {**loss, "l1": l1, "l1_kind": "nonsmooth"},
                    "solver": solver,
                },
            }
            pairs = Images(given.truth, given.data, given.validation, ranks)
            self._about.update(OF_FUNCTIONS)
            return partial(FunctionRun.start, model, pairs, settings, max_points, given.out, ranks)
        loss["criterion"], solver["threads"] = criterion, threads
        prepared = Prepared(given, loss, solver, ranks.comm is not None)
        self._about.update(prepared.about())
        return partial(prepared.start, given.out, ranks)

    def _describe(self) -> None:
        """Complete what a result says about its run."""
        core = self._core
        self._about.update(ndim=core.ndim, examples=core.examples, values=core.values)

    @classmethod
    def resume(
        cls,
        path: str | os.PathLike[str],
        max_points: int | None = None,
        threads: int | None = None,
        *,
        comm: Any = None,
        model: StronglyConvex | None = None,
        truth: Any = None,
        data: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> Run:
        """Open the run in a directory, to continue it step by step.

        The arguments are those of `bilevel.resume`.
        """
        run = cls.__new__(cls)
        run._ranks = Ranks.of(comm)
        with run._ranks.waiting_signals():
            with run._ranks.agreed():
                if max_points is not None:
                    max_points = positive_int("max_points", max_points)
                threads = None if threads is None else positive_int("threads", threads)
                run._about, _ = describe(path)
                pairs = _functions_of(run, path, model, truth, data, validation, threads)
            if pairs is not None and model is not None:
                run._core, budget = FunctionRun.open(path, max_points, model, pairs, run._ranks)
            else:
                is_colour = bool(run._about["family"]["model"].get("colour"))
                run._core, budget = FamilyRun.open(path, max_points, threads, run._ranks, is_colour)
        run._begin(budget, path)
        run._describe()
        run._look()
        return run

    def _begin(self, budget: int, out: str | os.PathLike[str] | None) -> None:
        """Set the fields of a run before its first step."""
        self.theta, self.params, self.f, self.f_error = None, {}, math.inf, math.inf
        self.num_points, self.work = 0, 0
        self._budget = budget
        self._out = None if out is None else os.fspath(out)
        self._result: Result | None = None
        self._termination: str | None = None

    def step(self) -> bool:
        """Compute the reconstructions that the solver asks for, and give them to it.

        Returns:
            False when the run has ended.
        """
        if self._result is not None or self._termination is not None:
            return False
        with self._ranks.waiting_signals():
            goes_on = self._step()
            self._ranks.any_ends(lambda: False)
        return goes_on

    def _step(self) -> bool:
        """Do a step. The ranks do not agree on signals yet."""
        if self._result is not None or self._termination is not None:
            return False
        goes_on = self._core.step()
        self._look()
        return goes_on

    def _look(self) -> None:
        """Read the progress of the run.

        An interruption may come between a step and this call, which is then repeated.
        """
        if self._result is not None:
            return
        self.num_points, self.work, best = self._core.progress()
        if best is not None:
            theta, values, self.f, lower, upper = best
            self.theta = np.array(theta)
            self.params = by_name(self._core.blocks, values)
            self.f_error = f_error(self.f, lower, upper)

    def stop(self) -> None:
        """End the run early. A run with `out` can still be continued from its directory."""
        self._end("stopped")

    def _end(self, termination: str) -> None:
        if self._result is None and self._termination is None:
            self._termination = termination

    def _detach(self) -> None:
        """Close the directory of the run, so that it can be opened again."""
        self._core.detach()

    @property
    def num_bytes(self) -> int:
        """The bytes that all ranks together have sent to each other; zero without `comm`.

        Each rank sends its own numbers and receives those of all ranks. The agreement on signals
        and on the callback after each step is not counted.
        """
        return self._core.num_bytes()

    def _how_to_continue(self) -> str:
        """The end of a message about a run that has not ended."""
        more = ", model=..., truth=..., data=..." if isinstance(self._core, FunctionRun) else ""
        return (
            "" if self._out is None else f"; bilevel.resume({self._out!r}{more}) continues the run"
        )

    def result(self) -> Result:
        """Return the learned parameters. This ends the run, and closes its directory."""
        if self._result is None:
            if self.theta is None:
                self._look()
            if self.theta is None and self.num_points == 0:
                raise RuntimeError("nothing has been evaluated: call step first")
            with self._ranks.waiting_signals():
                learned = self._core.finish()
            self._result = Result._of(learned, self._about, self._termination, self._budget)
        return self._result


def _functions_of(
    run: Run,
    path: str | os.PathLike[str],
    model: StronglyConvex | None,
    truth: Any,
    data: Any,
    validation: tuple[Any, Any] | None,
    threads: int | None,
) -> Images | None:
    """Check what a run needs whose model is given by functions; `None` for other runs."""
    if run._about["model"] != OF_FUNCTIONS["model"]:
        given = {"model": model, "truth": truth, "data": data, "validation": validation}
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f"{name} cannot be used with {os.fspath(path)}, which holds its own: leave it "
                    "out"
                )
        return None
    if not isinstance(model, StronglyConvex) or truth is None or data is None:
        raise ValueError(
            f"the model of the run in {os.fspath(path)} is given by functions, which are not "
            "saved: pass model, truth and data, and validation if there was one, as to learn"
        )
    if threads is not None:
        raise ValueError(f"threads {NO_MEANING}: leave it out")
    return Images(truth, data, validation, run._ranks)


def _start(name: str, start: Any, lower: float, upper: float) -> NDArray[np.float64]:
    """Check the start of a parameter: a number, or an array for a block."""
    if np.ndim(start) == 0:
        first = np.array(number(f"start[{name!r}]", start))
    else:
        try:
            first = np.array(start, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"start[{name!r}] must be numbers, not {start!r}") from None
        if first.size == 0:
            raise ValueError(f"start[{name!r}] is empty")
    for place in np.argwhere(~((lower <= first) & (first <= upper))):
        label = f"start[{name!r}]" + (str(place.tolist()) if first.shape else "")
        raise ValueError(f"{label} is {first[tuple(place)]}, outside of [{lower}, {upper}]")
    return first


def parameters_of(given: Arguments) -> list[dict[str, Any]]:
    """Check the parameters of a model written in Python."""
    learn: Any = given.learn
    start: Any = given.start
    bounds: Any = given.bounds
    if start is None or bounds is None:
        raise ValueError("a model written in Python needs start and bounds")
    if not isinstance(start, Mapping) and not np.ndim(start) == 1:
        raise TypeError(f"start must be a dictionary or a sequence of numbers, not {start!r}")
    if learn is TV:
        if isinstance(start, Mapping):
            learn = list(start)
        elif not isinstance(bounds, Mapping) and np.shape(bounds) == (2,):
            learn, start, bounds = ["theta"], {"theta": start}, {"theta": bounds}
        else:
            learn = [f"theta{j}" for j in range(len(start))]
    known = names(learn)
    starts, ranges = named("start", start, known), named("bounds", bounds, known)
    made: list[dict[str, Any]] = []
    for name in known:
        for argument, entries in (("start", starts), ("bounds", ranges)):
            if name not in entries:
                raise ValueError(f"{argument} lacks {name!r}")
        lower, upper = pair(f"bounds[{name!r}]", ranges[name])
        first = _start(name, starts[name], lower, upper)
        made.append(
            {
                "name": name,
                "shape": list(first.shape),
                "map": "identity",
                "start": first.reshape(-1).tolist() if first.shape else float(first),
                "lower": lower,
                "upper": upper,
            }
        )
    return made


class ForeignRun(Core):
    """A run with a model that the user has written in Python."""

    def __init__(
        self, model: Callable[..., Any], given: Arguments, settings: dict[str, Any]
    ) -> None:
        self._model = model
        self._truth = images("truth", given.truth, complex_too=True)
        parameters = parameters_of(given)
        made = {**settings, "parameters": parameters}
        made["l1"] = Penalty.read(given.penalty, ("l1",), "python").l1
        run = _bilevel.ForeignRun(json.dumps(made), [flat(x) for x in self._truth])
        blocks = [(p["name"], p["shape"]) for p in parameters]
        super().__init__(run, blocks, self._truth[0].ndim, about([x.shape for x in self._truth]))

    def step(self) -> bool:
        asked = self._run.ask()
        if asked is None:
            return False
        try:
            reply = self._model(*asked)
        except Reject as error:
            self._run.reject(str(error))
        else:
            self._answer(reply)
        return self._run.ask() is not None

    def _answer(self, reply: Any) -> None:
        """Check the answer of the model, and tell the solver."""
        if not isinstance(reply, tuple) or len(reply) not in (3, 4):
            raise TypeError(
                "the model must return (reconstructions, error, state) or "
                "(reconstructions, error, state, work)"
            )
        made, error, state = reply[:3]
        # the solver avoids parameters where a reconstruction is NaN
        x = images("the model's result", made, complex_too=True, finite=False, any_shape=True)
        check_same("truth", self._truth, "the model's result", x)
        x = [
            a.astype(t.dtype, copy=False) if t.dtype.kind == "c" else a
            for a, t in zip(x, self._truth)
        ]
        if any(a.dtype != t.dtype for a, t in zip(x, self._truth)):
            raise ValueError("the model's reconstructions are complex, but truth is real")
        try:
            bounds = np.asarray(error, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"the model's error must be one number, or one for each image, not {error!r}"
            ) from None
        if bounds.ndim > 1 or bounds.size not in (1, len(x)):
            raise ValueError(
                f"the model's error has shape {bounds.shape}, but must be one number, "
                f"or one for each of {counted(len(x), 'image')}"
            )
        if not (bounds >= 0.0).all():
            raise ValueError(
                f"the model's error is {error}, but a bound is zero, positive or infinite"
            )
        work = unsigned("the model's work", reply[3]) if len(reply) == 4 else 1
        self._run.answer(
            [flat(a) for a in x], np.broadcast_to(bounds.reshape(-1), len(x)).tolist(), state, work
        )

    def has_ended(self) -> bool:
        return self._run.ask() is None

    def num_bytes(self) -> int:
        return 0

    def detach(self) -> None:
        """Do nothing: a run in memory has no directory."""
