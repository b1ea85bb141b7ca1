"""The interface of DFO-LS: the same arguments, and a result with the same attributes."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import FloatArray, entries, inside, numbers, residual_vector, start_vector
from ._database import EvaluationDatabase
from ._diagnostics import in_x, table, with_end
from ._engine import Engine
from ._numbers import finite, integer, real
from ._optim_results import OptimResults, frame
from ._options import Preset, default_options, merged, with_keywords
from ._params import InputError, Params, read
from ._run import is_handled

_LOGGER = logging.getLogger("dfo_ls")
#: DFO-LS treats bounds of this size as infinite.
_NO_BOUND = 1e20


@dataclass(frozen=True)
class _Penalty:
    """A regulariser from DFO-LS's arguments ``h`` and ``prox_uh``."""

    h: Callable[..., Any]
    prox_uh: Callable[..., Any]
    argsh: tuple[Any, ...]
    argsprox: tuple[Any, ...]

    def value(self, x: FloatArray) -> float:
        return real("the value that h returned", self.h(x, *self.argsh))

    def prox(self, x: FloatArray, t: float) -> Any:
        return self.prox_uh(x, t, *self.argsprox)


def solve(
    objfun: Callable[..., Any],
    x0: npt.ArrayLike | EvaluationDatabase,
    h: Callable[..., Any] | None = None,
    lh: float | None = None,
    prox_uh: Callable[..., Any] | None = None,
    argsf: tuple[Any, ...] = (),
    argsh: tuple[Any, ...] = (),
    argsprox: tuple[Any, ...] = (),
    bounds: Any = None,
    projections: Sequence[Callable[[FloatArray], npt.ArrayLike]] = (),
    npt: int | None = None,
    rhobeg: float | None = None,
    rhoend: float = 1e-8,
    maxfun: int | None = None,
    nsamples: Callable[[float, float, int, int], int] | None = None,
    user_params: dict[str, Any] | None = None,
    objfun_has_noise: bool = False,
    scaling_within_bounds: bool = False,
    do_logging: bool = True,
    print_progress: bool = False,
) -> OptimResults:
    """Minimises ``sum(objfun(x)**2) + h(x)``, with the arguments and the result of DFO-LS 1.6.

    A script for DFO-LS only needs another import. New programs should call :func:`minimize`, which
    also takes inexact simulators, evaluates in parallel and saves runs.

    >>> import numpy as np
    >>> import dfo_ls as dfols
    >>> def rosenbrock(x):
    ...     return np.array([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])
    >>> soln = dfols.solve(rosenbrock, np.array([-1.2, 1.0]))
    >>> soln.flag == soln.EXIT_SUCCESS, soln.x.round(6)
    (True, array([1., 1.]))
    >>> print(soln.msg)
    Success: Objective is sufficiently small

    Parameters
    ----------
    objfun
        ``objfun(x, *argsf)`` returns an array of residuals. If it raises an exception, the
        attribute ``engine`` of the exception holds all evaluations.
    x0
        The start, or an :class:`EvaluationDatabase` with earlier evaluations.
    h, lh, prox_uh
        A convex regulariser ``h(x, *argsh)``, its Lipschitz constant, and its proximal map
        ``prox_uh(x, u, *argsprox)``.
    argsf, argsh, argsprox
        Further arguments for ``objfun``, ``h`` and ``prox_uh``.
    bounds
        A pair ``(lower, upper)`` of arrays; ``None`` for either means no bounds.
    projections
        Functions that return the nearest point of a closed convex set.
    npt
        The number of interpolation points. Without it, the residuals are modelled with curvature,
        which takes the fewest evaluations. ``len(x0) + 1`` selects linear models, as in DFO-LS,
        which take the least time for each evaluation. More points select linear regression.
    rhobeg
        The initial trust-region radius, a length in ``x`` that is the same for every parameter.
        Without it, the units of the parameters come from their starts, as in :func:`minimize`
        without bounds: parameters of very different sizes need no scaling by hand. The initial
        radius is then a tenth of the unit. A box limits the unit of its parameter.
    rhoend
        The final lower radius, a length in ``x``. Without ``rhobeg`` it is a length for the largest
        entry of ``x0`` (a share of that entry if it is below 1), and proportionally smaller for
        parameters with smaller units. The radii that ``nsamples`` gets and that ``diagnostic_info``
        contains (``delta``, ``rho``, and the step ``norm_sk``) are lengths of the same kind: they
        begin at DFO-LS's default ``0.1 * max(|x0|, 1)`` and end at ``rhoend``.
    maxfun
        The largest number of evaluations (default ``min(100 * (len(x0) + 1), 1000)``).
    nsamples
        ``nsamples(delta, rho, iteration, num_restarts)`` returns how often to evaluate a point of a
        noisy objective; the residuals are averaged.
    user_params
        A dictionary of DFO-LS's advanced parameters. ``None`` means the default. The README lists
        the keys. A key that is unknown, or whose value cannot be honoured, raises ``ValueError``.
    objfun_has_noise
        Whether the residuals have random noise.
    scaling_within_bounds
        Whether to measure every parameter in units of the width of its box. Radii are then shares
        of the box, and ``rhobeg`` is 0.1 by default.
    do_logging, print_progress
        Whether to log every evaluation to the logger ``dfo_ls``, and to print every iteration.

    Bad arguments give the flag ``EXIT_INPUT_ERROR`` in the same cases as in DFO-LS. Ctrl-C returns
    the best point with the flag ``EXIT_STOPPED_WARNING``.
    """
    if not callable(objfun):
        raise TypeError(f"objfun must be a function, but is {objfun!r}")
    if nsamples is not None and not callable(nsamples):
        raise TypeError(f"nsamples must be a function, but is {nsamples!r}")
    try:
        known: list[tuple[FloatArray, FloatArray]] = []
        if isinstance(x0, EvaluationDatabase):
            known = [x0.get_eval(index) for index in range(len(x0))]
            x0 = x0.get_x(x0.get_starting_eval_idx())
        start = _start(x0)
        projections = entries("projections", "functions", projections)
        argsf = tuple(entries("argsf", "arguments", argsf))
        penalty = _penalty(h, lh, prox_uh, argsh, argsprox)
        limits = _limits(bounds, len(start))
        scaled = _is_scaled(scaling_within_bounds, limits, projections)
        if scaled and penalty is not None:
            raise ValueError(
                "scaling_within_bounds cannot be combined with h: "
                "prox_uh is defined by distances in x"
            )
        is_one_unit = bool(projections) or penalty is not None
        region = _region(rhobeg, real("rhoend", rhoend), start, limits, scaled, is_one_unit)
        points = len(start) + 1 if npt is None else integer("npt", npt)
        most = finite("maxfun", maxfun)
        calls = min(100 * (len(start) + 1), 1000) if most is None else math.ceil(most)
        _check(len(start), points, region, calls)
        if limits is not None:
            start = inside(start, limits)
            _check_gap(limits, region)
        params = read(user_params, bool(objfun_has_noise), len(start), points, calls)
        if calls <= points:
            warnings.warn(
                "maxfun <= npt: Are you sure your budget is large enough?",
                RuntimeWarning,
                stacklevel=2,
            )
        options = _options(params, len(start), npt is not None, points, region, calls)
        if nsamples is not None:
            # every call of objfun is a unit of work
            options["budget"]["max_work"] = calls
        preset: Preset = "noisy" if objfun_has_noise else "default"
        _check_options(merged(default_options(preset), options))
    except InputError as error:
        return OptimResults(
            None,
            None,
            None,
            None,
            0,
            0,
            0,
            OptimResults.EXIT_INPUT_ERROR,
            f"Error (bad input): {error}",
            -1,
            [],
        )
    engine = Engine(
        start,
        bounds=limits,
        projections=projections,
        regularizer=penalty,
        known=known,
        options=options,
        preset=preset,
    )
    length = region.length
    run = _Run(
        engine, known, objfun, argsf, params, nsamples, calls, do_logging, print_progress, length
    )
    return run.to_end(points)


class _Run:
    """The loop around the engine, with DFO-LS's logging and progress."""

    def __init__(
        self,
        engine: Engine,
        known: list[tuple[FloatArray, FloatArray]],
        objfun: Callable[..., Any],
        argsf: tuple[Any, ...],
        params: Params,
        nsamples: Callable[[float, float, int, int], int] | None,
        maxfun: int,
        do_logging: bool,
        print_progress: bool,
        length: float,
    ) -> None:
        values = params.values
        self.engine = engine
        self.objfun = objfun
        self.argsf = argsf
        self.values = values
        self.nsamples = nsamples
        self.maxfun = maxfun
        self.log = do_logging and _LOGGER.isEnabledFor(logging.INFO)
        self.print_progress = print_progress
        self.length = length
        self.raises = (
            values["interpolation.throw_error_on_nans"] or values["restarts.throw_error_on_nans"]
        )
        wanted = values["logging.save_diagnostic_info"] and values["logging.save_rk"]
        self.residuals = {x.tobytes(): residuals for x, residuals in known} if wanted else None
        self.is_seen = self.log or self.raises or wanted
        self.nf = self.nx = 0
        self.seen = 0
        self.last: FloatArray | None = None
        self.relative: float | None = None

    def to_end(self, points: int) -> OptimResults:
        if self.print_progress:
            print(" Run  Iter     Obj       Grad     Delta      rho     Evals ")
        try:
            while wanted := self.engine._core.ask():
                self.answer(wanted)
                self.engine._tell()
                self.after_tell()
        except BaseException as error:
            if not is_handled(error, self.engine):
                raise
        if self.log:
            _LOGGER.info("Did a total of %d run(s)", self.engine._core.num_restarts + 1)
        return self.results(points)

    def answer(self, wanted: Sequence[FloatArray]) -> None:
        engine, objfun, argsf = self.engine, self.objfun, self.argsf
        for index, x in enumerate(wanted):
            samples = 1
            if self.nsamples is None:
                residuals = residual_vector(objfun(x, *argsf))
            else:
                samples = self.num_samples()
                if samples == 0:
                    engine._reject(index, "the budget is spent", 0)
                    continue
                # objfun may change the array that it gets
                calls = [
                    np.array(residual_vector(objfun(x.copy(), *argsf))) for _ in range(samples)
                ]
                residuals = np.mean(calls, axis=0)
            self.nf += samples
            self.nx += 1
            if self.is_seen:
                self.see(engine._core.ask()[index], residuals, samples)
            self.last = residuals
            engine._answer(index, residuals, 0.0, None, samples, samples)

    def num_samples(self) -> int:
        assert self.nsamples is not None
        core = self.engine._core
        delta, rho = (self.length * radius for radius in core.radii)
        found = core.iterations(max(self.engine._told - 1, 0))
        iteration = found[-1]["number"] + 1 if found else 0
        samples = max(int(self.nsamples(delta, rho, iteration, core.num_restarts)), 1)
        return min(samples, self.maxfun - self.nf)

    def see(self, x: FloatArray, residuals: FloatArray, samples: int) -> None:
        if self.residuals is not None:
            self.residuals[x.tobytes()] = residuals.copy()
        if self.raises and np.isnan(residuals).any():
            raise np.linalg.LinAlgError("NaN encountered in objective evaluations")
        if self.log:
            regularizer = self.engine._regularizer
            obj = float(residuals @ residuals) + (
                0.0 if regularizer is None else regularizer.value(x)
            )
            calls = f"{self.nf}" if samples == 1 else f"{self.nf - samples + 1}-{self.nf}"
            short = len(x) <= self.values["logging.n_to_print_whole_x_vector"]
            _LOGGER.info(
                "Function eval %s at point %d has obj = %.15g at x = %s",
                calls,
                self.nx,
                obj,
                x if short else "[...]",
            )

    def after_tell(self) -> None:
        engine = self.engine
        if self.relative is None:
            first = engine.best_objective
            if first is not None:
                self.relative = self.values["model.rel_tol"] * first
        elif self.relative > self.values["model.abs_tol"]:
            best = engine.best_objective
            if best is not None and best <= self.relative:
                engine._core.stop("target")
        if self.print_progress and engine._told > self.seen:
            self.print(in_x(engine._core.iterations(self.seen), self.length))
            self.seen = engine._told

    def print(self, rows: list[dict[str, Any]]) -> None:
        run = self.engine._core.num_restarts + 1
        for row in rows:
            radii = f"{row['gradient']:8.2e}  {row['delta']:.2e}  {row['rho']:.2e}"
            head = f"{run:3d}  {row['number'] + 1:4d}    {row['objective']:.2e}"
            print(f"{head}  {radii}  {row['work']:4d}   ")

    def results(self, points: int) -> OptimResults:
        core = self.engine._core
        report = core.report()
        flag, message = _exit(report["termination"], report["message"])
        residuals, objective = report["residuals"], report["objective"]
        if len(residuals) == 0:
            # no point could be evaluated
            residuals, objective = self.last, math.nan
        best = core.best_number
        jacobian = report["jacobian"]
        numbers_ = (
            []
            if jacobian is None
            else [number + 1 for number in core.set_points if number < self.nx]
        )
        results = OptimResults(
            report["x"],
            residuals,
            objective,
            jacobian,
            self.nf,
            self.nx,
            core.num_restarts + 1,
            flag,
            message,
            -1 if best is None else best + 1,
            numbers_,
        )
        if not self.print_progress and not self.values["logging.save_diagnostic_info"]:
            return results
        rows = in_x(with_end(core.iterations(0), report, core.radii), self.length)
        if self.print_progress:
            self.print(rows[self.seen :])
        if self.values["logging.save_diagnostic_info"]:
            results.diagnostic_info = frame(
                table(
                    rows,
                    self.engine.options,
                    points,
                    self.values["logging.save_xk"],
                    self.residuals,
                )
            )
        return results


def _exit(termination: str, message: str) -> tuple[int, str]:
    exits = {
        "radius_reached": (OptimResults.EXIT_SUCCESS, "Success: rho has reached rhoend"),
        "target_reached": (OptimResults.EXIT_SUCCESS, "Success: Objective is sufficiently small"),
        "noise_reached": (OptimResults.EXIT_SUCCESS, "Success: All points within noise level"),
        "restarts_exhausted": (
            OptimResults.EXIT_SUCCESS,
            "Success: Reached maximum number of unsuccessful restarts",
        ),
        # the residuals are exact here: their differences are at rounding level
        "accuracy_floor": (OptimResults.EXIT_SUCCESS, f"Success: {message}"),
        "exhausted": (
            OptimResults.EXIT_MAXFUN_WARNING,
            "Warning (max evals): Objective has been called MAXFUN times",
        ),
        "slow": (
            OptimResults.EXIT_SLOW_WARNING,
            "Warning (slow progress): Maximum slow iterations reached",
        ),
        "stopped": (OptimResults.EXIT_STOPPED_WARNING, "Warning (stopped): Interrupted"),
        "blocked": (
            OptimResults.EXIT_EVAL_ERROR,
            "Error (function evaluation): NaN received from objective function evaluation",
        ),
        "failed": (
            OptimResults.EXIT_LINALG_ERROR,
            f"Error (linear algebra): No model can be built: {message}",
        ),
    }
    return exits[termination]


def _start(x0: Any) -> FloatArray:
    array = numbers("x0", x0)
    if array.ndim == 0:
        raise TypeError(f"x0 must be a vector, but is {x0!r}")
    if array.ndim > 1:
        raise InputError("x0 must be a vector")
    return start_vector(array)


def _penalty(
    h: Any, lh: Any, prox_uh: Any, argsh: tuple[Any, ...], argsprox: tuple[Any, ...]
) -> _Penalty | None:
    if h is None:
        given = {"lh": lh, "prox_uh": prox_uh, "argsh": argsh or None, "argsprox": argsprox or None}
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{name} is given without h: pass h, or omit {name}")
        return None
    if prox_uh is None:
        raise InputError("Must provide prox_uh input if h is not None")
    if lh is None:
        raise InputError("Must provide lh input if h is not None")
    if not real("lh", lh) > 0:
        raise InputError("lh must be strictly positive")
    argsh, argsprox = (
        tuple(entries("argsh", "arguments", argsh)),
        tuple(entries("argsprox", "arguments", argsprox)),
    )
    return _Penalty(h, prox_uh, argsh, argsprox)


def _limits(bounds: Any, num_params: int) -> tuple[FloatArray, FloatArray] | None:
    if bounds is None:
        return None
    try:
        lower, upper = bounds
    except (TypeError, ValueError):
        raise ValueError(f"bounds must be a pair (lower, upper), but is {bounds!r}") from None
    sides = []
    for name, side, missing in (("lower", lower, -np.inf), ("upper", upper, np.inf)):
        found = (
            np.full(num_params, missing)
            if side is None
            else numbers(f"{name} bounds", side).astype(float)
        )
        if found.shape != (num_params,):
            raise InputError(f"{name} bounds must have same shape as x0")
        if np.isnan(found).any():
            raise ValueError(f"{name} bounds must not be NaN")
        sides.append(np.where(np.abs(found) >= _NO_BOUND, missing, found))
    crossed = np.flatnonzero(sides[0] > sides[1])
    if len(crossed):
        i = crossed[0]
        raise InputError(
            f"bounds are crossed: lower[{i}] is {sides[0][i]}, but upper[{i}] is {sides[1][i]}"
        )
    if all(np.isinf(side).all() for side in sides):
        return None
    return sides[0], sides[1]


def _is_scaled(
    wanted: bool, limits: tuple[FloatArray, FloatArray] | None, projections: list[Any]
) -> bool:
    if not wanted:
        return False
    if limits is None or not np.isfinite(limits).all():
        why = "unconstrained problem/1-sided bounds"
    elif projections:
        why = "problem with projections"
    else:
        return True
    warnings.warn(f"Ignoring scaling_within_bounds=True for {why}", RuntimeWarning, stacklevel=3)
    return False


@dataclass(frozen=True)
class _Region:
    """The initial and the final trust region, in the solver's units and in the user's."""

    initial_radius: float
    final_radius: float
    #: The solver's option ``scaling``.
    scaling: Any
    #: The length that is reported for a radius of 1.
    length: float
    #: The radius of the initial region along each parameter, which has to fit into the bounds.
    rhobeg: FloatArray


def _region(
    rhobeg: float | None,
    rhoend: float,
    start: FloatArray,
    limits: tuple[FloatArray, FloatArray] | None,
    is_scaled_within_bounds: bool,
    is_one_unit: bool,
) -> _Region:
    """Returns the trust region that DFO-LS documents or, without ``rhobeg``, a scaled one."""
    if is_scaled_within_bounds or rhobeg is not None:
        initial = 0.1 if rhobeg is None else real("rhobeg", rhobeg)
        units = np.ones(len(start))
        if is_scaled_within_bounds and limits is not None:
            units = limits[1] - limits[0]
        return _Region(initial, rhoend, {"Given": units.tolist()}, 1.0, initial * units)
    origin = start if limits is None else np.clip(start, *limits)
    sizes = np.abs(origin)
    scaling: Any = "Automatic"
    if limits is not None and not is_one_unit and np.isfinite(limits).all(axis=0).any():
        # Automatic scaling would take the width of each box as the unit. In DFO-LS only
        # scaling_within_bounds does so; without it, boxes may be much wider than the parameters.
        scaling = {"Given": _units(sizes, limits[1] - limits[0]).tolist()}
    # The reported radii begin with DFO-LS's default for rhobeg, and end with rhoend.
    length = max(float(sizes.max()), 1.0)
    return _Region(0.1, rhoend / length, scaling, length, 0.1 * sizes)


#: Starts within this factor of the largest share its unit, as in the solver's automatic scaling
#: (``SAME_KIND`` of the crate ``dfo-ls``).
_SAME_KIND = 30.0


def _units(sizes: FloatArray, widths: FloatArray) -> FloatArray:
    """Returns the solver's automatic units for these starts, but at most the width of the box.

    Of the 88 fits in ``tests/regressions.py``, these units solve 85 in a box of 1/10 to 10 times
    the truth, and 84 in a box of -1e6 to 1e6. The widths as units solve 86 and 14.
    """
    largest = float(sizes.max()) or 1.0
    is_alike = (sizes == 0) | (_SAME_KIND * sizes >= largest)
    units = np.minimum(np.where(is_alike, largest, sizes), widths)
    return np.where(units > 0, units, 1.0)


def _check(num_params: int, npt: int, region: _Region, maxfun: int) -> None:
    if npt < num_params + 1:
        raise InputError("npt must be >= n+1 for linear models with inexact interpolation")
    if not 0 < region.initial_radius < math.inf:
        raise InputError("rhobeg must be strictly positive")
    if not 0 < region.final_radius < math.inf:
        raise InputError("rhoend must be strictly positive")
    if not region.initial_radius > region.final_radius:
        raise InputError("rhobeg must be > rhoend")
    if maxfun <= 0:
        raise InputError("maxfun must be strictly positive")


def _check_gap(limits: tuple[FloatArray, FloatArray], region: _Region) -> None:
    gap = limits[1] - limits[0]
    narrow = np.flatnonzero(~(gap >= 2 * region.rhobeg) | (gap == 0))
    if len(narrow):
        i = narrow[0]
        raise InputError(
            f"gap between lower and upper must be at least 2*rhobeg, but lower[{i}] is "
            f"{limits[0][i]} and upper[{i}] is {limits[1][i]}: pass a smaller rhobeg or "
            "scaling_within_bounds=True, or call dfo_ls.minimize, which takes every box"
        )


def _check_options(options: dict[str, Any]) -> None:
    """Checks conditions on several keys."""
    region = options["trust_region"]
    if not region["eta1"] <= region["eta2"]:
        raise InputError("Bad parameters: ['tr_radius.eta1', 'tr_radius.eta2']")


def _options(
    params: Params,
    num_params: int,
    npt_given: bool,
    npt: int,
    region: _Region,
    maxfun: int,
) -> dict[str, Any]:
    """Returns the solver's options for DFO-LS's arguments."""
    values = params.values
    keywords = {
        path: value for path, value in params.options.items() if not path.startswith("restarts.")
    }
    keywords |= {
        "trust_region.initial_radius": region.initial_radius,
        "trust_region.final_radius": region.final_radius,
        "trust_region.max_radius": max(1e10, region.initial_radius),
        "scaling": region.scaling,
        # objfun cannot be asked for an accuracy
        "accuracy": {"Fixed": 0.0},
        "target": values["model.abs_tol"],
        "budget.max_points": maxfun,
        "budget.max_evaluations": maxfun,
        "slow.patience": -(-values["slow.max_slow_iters"] // num_params),
    }
    if npt_given:
        # slightly more, so that rounding loses no point
        regression = {"Regression": {"points_per_param": (npt - 1) / num_params * (1 + 1e-12)}}
        keywords["model"] = "Linear" if npt == num_params + 1 else regression
    if values["init.random_initial_directions"]:
        # from NumPy's generator, which the user may have seeded
        keywords["initial.directions"] = {"Orthogonal": {"seed": int(np.random.randint(2**31))}}
    directions = values["growing.ndirs_initial"]
    if directions is not None:
        if directions > npt - 1:
            raise InputError("Bad parameters: ['growing.ndirs_initial']")
        if directions < num_params:
            keywords["initial.num_directions"] = directions
    level = values["noise.scale_factor_for_quit"]
    if values["noise.quit_on_noise_level"]:
        if values["noise.additive_noise_level"] is not None:
            keywords["noise.level"] = {"Additive": level * values["noise.additive_noise_level"]}
        elif values["noise.multiplicative_noise_level"] is not None:
            keywords["noise.level"] = {
                "Multiplicative": level * values["noise.multiplicative_noise_level"]
            }
    if values["logging.save_diagnostic_info"] and values["logging.save_poisedness"]:
        keywords["diagnostics.poisedness"] = True
    options = with_keywords(None, keywords)
    restarts = {
        path.split(".")[1]: value
        for path, value in params.options.items()
        if path.startswith("restarts.")
    }
    options["restarts"] = restarts if values["restarts.use_restarts"] else None
    return options
