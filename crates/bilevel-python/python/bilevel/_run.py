"""A run of the solver, which asks for reconstructions and gets them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _bilevel
from ._arrays import (
    about,
    by_name,
    check_same,
    counted,
    flat,
    images,
    is_empty,
    unmasked,
)
from ._camera import Poisson
from ._colour import Colour
from ._convex import FunctionRun, Images, Reject, StronglyConvex
from ._directory import OF_FUNCTIONS, describe
from ._family_run import FamilyRun, Prepared
from ._mpi import Ranks
from ._result import Result, f_error
from ._settings import (
    LEAST_GAIN,
    Family,
    Model,
    Patches,
    Penalty,
    Ranges,
    Values,
    accuracy_iterations,
    check_criterion,
    check_filters,
    check_method,
    check_slices,
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

LEARN: Final = ("alpha", "nu", "xi")


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

    def __init__(
        self,
        truth: Any,
        data: Any,
        model: Model = "tv",
        learn: Any = LEARN,
        fixed: Mapping[str, float] | None = None,
        start: Values | None = None,
        bounds: Ranges | None = None,
        objective: str = "mean",
        residuals: str = "pixel",
        penalty: Mapping[str, Any] | None = None,
        max_points: int = 100,
        method: str = "auto",
        accuracy: str | int = "dynamic",
        threads: int | None = None,
        seed: int = 0,
        *,
        filters: str | None = None,
        patches: int | None = None,
        patch_size: int = 64,
        kernel: ArrayLike | str | None = None,
        boundary: str | None = None,
        mask: ArrayLike | None = None,
        validation: tuple[Any, Any] | None = None,
        image_range: tuple[float | None, float | None] | None = None,
        solver: str = "auto",
        kappa: float = 0.1,
        criterion: str | None = None,
        noise: float | Sequence[float] | Poisson | None = None,
        out: str | os.PathLike[str] | None = None,
        comm: Any = None,
        colour: str | None = None,
        channel_axis: int | None = None,
        slices: str = "pictures",
    ) -> None:
        self._ranks = Ranks.of(comm)
        prepared = None
        begin: Callable[[], FunctionRun] | None = None
        with self._ranks.waiting_signals(), self._ranks.agreed():
            self._begin(positive_int("max_points", max_points), out)
            loss = {
                "scale": one_of("objective", objective, ("mean", "sum")),
                "residuals": one_of("residuals", residuals, ("image", "pixel")),
            }
            camera = noise if isinstance(noise, Poisson) else None
            known = None if camera is not None else noise
            chosen = check_criterion(criterion, truth is None, known, image_range, out)
            kind = check_solver(solver)
            limits: dict[str, Any] = {"max_points": self._budget, "seed": unsigned("seed", seed)}
            share = positive("kappa", kappa)
            self._about: dict[str, Any] = {"objective": objective, "method": check_method(method)}
            iterations = accuracy_iterations(accuracy)
            if fixed is not None and not isinstance(fixed, Mapping):
                raise TypeError(f"fixed must be a dictionary such as {{'xi': 1e-3}}, not {fixed!r}")
            if threads is not None:
                threads = positive_int("threads", threads)
            if callable(model):
                given: dict[str, Any] = {
                    "filters": filters,
                    "patches": patches,
                    "fixed": fixed or None,
                    "kernel": kernel,
                    "boundary": boundary,
                    "mask": mask,
                    "validation": validation,
                    "image_range": image_range,
                    "criterion": criterion,
                    "noise": noise,
                    "colour": colour,
                    "channel_axis": channel_axis,
                    "slices": None if slices == "pictures" else slices,
                    "threads": threads,
                    "accuracy": iterations,
                    "method": None if method == "auto" else method,
                }
                _check_nothing(given)
                if self._ranks.comm is not None:
                    raise ValueError(
                        "comm cannot be used with a model that is a function: let your function "
                        "compute its images on all ranks, and call learn on one of them"
                    )
                if out is not None:
                    raise ValueError(
                        "out cannot be used with a model that is a function, because its states "
                        "are Python objects: do not pass out, and let your function save what it "
                        "needs"
                    )
                if kind == "gradient":
                    raise ValueError(
                        "solver is 'gradient', but a model that is a function has no derivatives: "
                        "use 'auto' or 'derivative-free'"
                    )
                self._core: FamilyRun | FunctionRun | _Python = _Python(
                    model, truth, learn, start, bounds, penalty, {**loss, **limits}
                )
                self._about.update(model="python", fixed={}, family=None, kernel=None, mask=None)
            elif isinstance(model, StronglyConvex):
                given = {
                    "filters": filters,
                    "patches": patches,
                    "fixed": fixed or None,
                    "kernel": kernel,
                    "boundary": boundary,
                    "mask": mask,
                    "image_range": image_range,
                    "criterion": criterion,
                    "noise": noise,
                    "colour": colour,
                    "channel_axis": channel_axis,
                    "slices": None if slices == "pictures" else slices,
                    "threads": threads,
                }
                _check_nothing(given)
                # the limit on points may change, and is kept apart
                solver_settings = {
                    "seed": limits["seed"],
                    "kind": kind,
                    "kappa": share,
                    "method": method,
                    "iterations": iterations,
                }
                l1 = Penalty.read(penalty, ("l1",), "python").l1
                settings = {
                    "parameters": _parameters(learn, start, bounds),
                    "spec": {
                        "objective": {**loss, "l1": l1, "l1_kind": "nonsmooth"},
                        "solver": solver_settings,
                    },
                }
                pairs = Images(truth, data, validation, self._ranks)
                begin = partial(
                    FunctionRun.start, model, pairs, settings, self._budget, out, self._ranks
                )
                self._about.update(OF_FUNCTIONS)
            else:
                colours = Colour.read(colour, channel_axis, str(model))
                check_camera(camera, model, image_range, out)
                data = unmasked(data)
                if model == "inpaint" and mask is None and kernel is None:
                    mask = everywhere(data, colours)
                family = Family.read(
                    model,
                    learn,
                    LEARN,
                    fixed,
                    start,
                    bounds,
                    kernel,
                    mask,
                    image_range,
                    filters,
                    boundary,
                    colours is not None and colours.is_whole,
                )
                is_volume = check_slices(slices, family, colours)
                if family.model == "filters":
                    check_filters(kind, iterations)
                    limits["least_gain"] = LEAST_GAIN
                if kind == "gradient":
                    for name, value in (("accuracy", iterations), ("image_range", image_range)):
                        if value is not None:
                            raise ValueError(
                                f"solver='gradient' cannot be used with {name}: leave one of them "
                                "out, or use solver='derivative-free'"
                            )
                limits.update(
                    kind=kind,
                    kappa=share,
                    method=method,
                    iterations=iterations,
                    threads=threads,
                )
                loss["criterion"] = chosen
                prepared = Prepared(
                    family,
                    Patches.read(family, patches, patch_size, limits["seed"], is_volume),
                    truth,
                    data,
                    validation,
                    penalty,
                    loss,
                    limits,
                    self._ranks.comm is not None,
                    noise,
                    colours,
                    is_volume,
                )
                self._about.update(
                    model=family.model,
                    fixed=family.fixed,
                    family=family.spec,
                    kernel=family.kernel,
                    shape=family.operator.name,
                    mask=family.mask,
                    camera=None if camera is None else camera.numbers,
                )
        if begin is not None:
            with self._ranks.waiting_signals():
                self._core = begin()
        if prepared is not None:
            with self._ranks.waiting_signals():
                self._core = prepared.start(out, self._ranks)
        self._describe()

    def _describe(self) -> None:
        """Complete what a result says about its run."""
        core = self._core
        self._about.update(ndim=core.ndim, examples=core.examples)

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
    _check_nothing({"threads": threads})
    return Images(truth, data, validation, run._ranks)


def _check_nothing(given: Mapping[str, Any]) -> None:
    """Refuse arguments that are not for models written in Python."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} has no meaning for a model written in Python: leave it out")


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


def everywhere(data: Any, colours: Colour | None) -> NDArray[np.bool_] | None:
    """Return a mask of all pixels of the first image, for pictures in which NaN is missing."""
    if colours is not None or is_empty(data):
        return None
    first = np.asarray(data[0])
    if first.dtype.kind != "f" or not any(np.isnan(part).any() for part in data):
        return None
    return np.ones(first.shape, dtype=np.bool_)


def check_camera(camera: Poisson | None, model: Any, image_range: Any, out: Any) -> None:
    """Refuse settings that do not fit a camera."""
    if camera is None:
        return
    if model not in ("tv", "filters"):
        raise ValueError(
            f"noise=bilevel.Poisson(...) is for model='tv' and model='filters', not for {model!r}: "
            "only the data of denoising can be transformed"
        )
    for name, value in (("image_range", image_range), ("out", out)):
        if value is not None:
            raise ValueError(
                f"{name} cannot be used with noise=bilevel.Poisson(...), because transformed "
                "pictures are learned from: leave it out"
            )


def _parameters(learn: Any, start: Any, bounds: Any) -> list[dict[str, Any]]:
    """Check the parameters of a model written in Python."""
    if start is None or bounds is None:
        raise ValueError("a model written in Python needs start and bounds")
    if not isinstance(start, Mapping) and not np.ndim(start) == 1:
        raise TypeError(f"start must be a dictionary or a sequence of numbers, not {start!r}")
    if learn is LEARN:
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
        for argument, given in (("start", starts), ("bounds", ranges)):
            if name not in given:
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


class _Python:
    """A run with a model that the user has written in Python."""

    def __init__(
        self,
        model: Callable[..., Any],
        truth: Any,
        learn: Any,
        start: Any,
        bounds: Any,
        penalty: Mapping[str, Any] | None,
        settings: dict[str, Any],
    ) -> None:
        self._model = model
        self._truth = images("truth", truth, complex_too=True)
        self.ndim, self.examples = self._truth[0].ndim, about([x.shape for x in self._truth])
        parameters = _parameters(learn, start, bounds)
        self.blocks = {p["name"]: tuple(p["shape"]) for p in parameters}
        made = {**settings, "parameters": parameters}
        made["l1"] = Penalty.read(penalty, ("l1",), "python").l1
        self._run = _bilevel.ForeignRun(json.dumps(made), [flat(x) for x in self._truth])

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

    def progress(self) -> Any:
        return self._run.progress()

    def has_ended(self) -> bool:
        return self._run.ask() is None

    def num_bytes(self) -> int:
        return 0

    def detach(self) -> None:
        """Do nothing: a run in memory has no directory."""

    def finish(self) -> dict[str, Any]:
        """End the run, and return the result in the form of a family of the Rust crate."""
        return dict(json.loads(self._run.finish()))
