"""Results of learning: learned parameters, tables of the run, and reconstruction."""

from __future__ import annotations

import html
import json
import math
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ._arrays import (
    Array,
    counted,
    ends,
    image,
    images,
    is_array,
    is_table,
    like,
    unmasked,
    warn_of_stack,
    with_error,
)
from ._camera import of_numbers
from ._colour import parts, rgb, whole_axis
from ._denoise_tv import solve
from ._directory import OF_FUNCTIONS, describe, write
from ._settings import TASKS, is_periodic, measured, nonnegative, warn_of_blur
from ._warn import warn

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

FORMAT: Final = "bilevel result"
VERSION: Final = 2
# A relative change of the objective below this is negligible, as in the Rust crate.
NEGLIGIBLE: Final = 1e-3
# An image is probably in another unit if its range of values, divided by the range of the data that
# were learned from, is below the first or above the second number, as in the program.
MIN_RANGE: Final = 0.1
MAX_RANGE: Final = 10.0
# A smaller difference of PSNR, in decibels, cannot be seen.
VISIBLE: Final = 0.1
# An objective whose interval has this relative width is known up to rounding: no decision is left.
ROUNDING: Final = 1e-6

MESSAGES: Final = {
    "radius_reached": "the steps have reached the final radius",
    "slow": "the objective has almost stopped decreasing",
    "converged": "no further step promises a lower objective",
    "exhausted": "{spent}",
    "blocked": "better parameters could not be evaluated: exclude those by bounds",
    "accuracy_floor": "the next step needs more accurate reconstructions than are possible",
    "stopped": "the run was ended early: there may be better parameters",
    "interrupted": "the run was interrupted: there may be better parameters",
    "oracle_failed": "no more parameters could be evaluated: {reason}",
}
CONVERGED: Final = ("radius_reached", "slow", "converged")


def f_error(f: float, lower: float, upper: float) -> float:
    """Return the largest distance of a point in `[lower, upper]` from `f`, rounded up."""
    distance = max(f - lower, upper - f)
    return math.nextafter(distance, math.inf) if distance < math.inf else math.inf


def _number(value: float | None) -> float:
    """Return a number of JSON, which has `null` for infinity."""
    return math.inf if value is None else value


def _value(map_name: str, theta: float) -> float:
    """Return the value of a parameter from its `theta`."""
    if map_name == "log10":
        return float(10.0**theta)
    return theta / (1.0 - theta) if map_name == "odds" else theta


def _entries(blocks: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Return each number of learned parameters, in the form of a parameter without a shape."""
    keys = ("value", "theta", "at", "influence")
    for block in blocks:
        about = block["parameter"]
        shape = about.get("shape")
        if not shape:
            yield block
            continue
        places = list(np.ndindex(*shape))
        lists = [
            block[key] if isinstance(block[key], list) else [block[key]] * len(places)
            for key in keys
        ]
        for place, *numbers in zip(places, *lists):
            label = f"{about['name']}[{', '.join(str(j) for j in place)}]"
            yield {**dict(zip(keys, numbers)), "parameter": {**about, "name": label}}


class Result:
    """Learned parameters with certified bounds on the objective, and the history of the run.

    `learn` and `resume` return a result, and `load` reads one. A result can be called on an image,
    which reconstructs it.

    >>> import bilevel
    >>> truth = bilevel.phantoms.box_functions(3, 32)
    >>> result = bilevel.learn(truth, bilevel.add_noise(truth, 0.1), learn=("alpha",))
    >>> float(result.theta[0]) == __import__("math").log10(result.params["alpha"])
    True
    >>> abs(result.interval[1] - result.f) <= result.f_error
    True
    """

    params: dict[str, Any]
    """The values of the learned parameters by name: a number, or an array for a block of numbers.

    For sampling, `params["theta"]` has the weights of all frequencies.
    """
    fixed: dict[str, float]
    """The values of the parameters that were not learned."""
    theta: NDArray[np.float64]
    """The learned parameters as the solver sees them.

    They are the decimal logarithms of alpha, nu and xi, the θ of sampling, or the parameters of a
    function.
    """
    f: float
    """The objective at the learned parameters, with the reconstructions as computed."""
    f_error: float
    """A certified bound on the error of `f`: `|f_exact − f| ≤ f_error`.

    `f_exact` is the objective with exact reconstructions.
    """
    interval: tuple[float, float]
    """An interval that certainly contains the exact objective.

    Its ends need not be equally far from `f`.
    """
    termination: str
    """The reason why the run ended, as a word.

    The run has `converged` with "radius_reached", "slow" and, with gradients, "converged"; and with
    "accuracy_floor" if `f` is known up to rounding. The others are "exhausted", "blocked",
    "stopped", "interrupted" and "oracle_failed".
    """
    message: str
    """The reason why the run ended, as a sentence."""
    converged: bool
    """Whether the run has converged."""
    solver: str
    """The solver that learned: "gradient" or "derivative-free"."""
    gradient: dict[str, Any] | None
    """The gradient of the objective at the learned parameters; `None` without gradients.

    `norm` is the norm of the projected gradient with respect to `theta`: slopes that bounds hold
    back do not count. `error` is a certified bound on its error; `None` if there is none.
    `reconstructions` and `adjoints` are the parts of `work` for each of them.
    """
    num_points: int
    """The number of points, that is, of different values of the parameters that were tried."""
    work: int
    """The cost of the run in gradients of the reconstruction problems.

    For a model that is a function, it is the cost that the function has reported.
    """
    warnings: list[str]
    """Warnings about parameters that are at their bounds or hardly matter, and about training
    images whose reconstructions are no better than the data."""
    model: str
    """The name of the model; "python" for a function."""

    _learned: dict[str, Any]
    _about: dict[str, Any]

    @classmethod
    def _of(
        cls, learned: dict[str, Any], about: dict[str, Any], termination: str | None, budget: int
    ) -> Result:
        """Build a result from that of the Rust crate."""
        found = learned["termination"]
        word, details = next(iter(found.items())) if isinstance(found, dict) else (found, {})
        word = re.sub(r"(?<!^)(?=[A-Z])", "_", word).lower()
        reason = details.get("reason", "") if isinstance(details, dict) else ""
        if not math.isfinite(_number(learned["objective"])):
            raise RuntimeError(f"no reconstruction could be computed: {reason or word}")
        word = termination or word
        spent = f"the limit of {counted(budget, 'point')} is reached"
        message = MESSAGES.get(word, word).format(spent=spent, reason=reason)
        if word == "exhausted":
            message += _recently(learned)
        made = cls._made({**learned, "termination": word, "message": message}, about)
        if word == "accuracy_floor":
            made._learned["message"] = made.message = f"{message}: {made._at_the_floor()}"
        return made

    @classmethod
    def _made(cls, learned: dict[str, Any], about: dict[str, Any]) -> Result:
        made = cls.__new__(cls)
        made._learned, made._about = learned, about
        made.params = {}
        for block in learned["parameters"]:
            parameter, value = block["parameter"], block["value"]
            if shape := parameter.get("shape"):
                value = np.array(value, dtype=np.float64).reshape(shape)
            made.params[parameter["name"]] = value
        made.fixed = dict(about["fixed"])
        made.theta = np.hstack([block["theta"] for block in learned["parameters"]])
        made.f = learned["objective"]
        lower, upper = learned["interval"]
        made.interval = (lower, _number(upper))
        made.f_error = f_error(made.f, *made.interval)
        made.termination, made.message = learned["termination"], learned["message"]
        at_rounding = made.termination == "accuracy_floor" and made.f_error <= ROUNDING * abs(
            made.f
        )
        made.converged = made.termination in CONVERGED or at_rounding
        # models given by black boxes or by functions name no solver
        made.solver = learned.get("solver", "derivative-free")
        gradient = learned.get("gradient")
        made.gradient = None if gradient is None else dict(gradient)
        made.num_points = learned["num_points"]
        made.work = sum(evaluation["work"] for evaluation in learned["evaluations"])
        made.model = about["model"]
        made.warnings = [*made._warnings(), *made._gain_warnings()]
        return made

    def _at_the_floor(self) -> str:
        """Advice on a decision that needs more accuracy than the reconstructions can have."""
        known = f"f is {with_error(self.f, self.f_error)}"
        if self.converged:
            return f"{known}, and better parameters cannot be told apart"
        if self._about["family"] is None:
            return f"{known}; if that is not enough, let the model reach the requested accuracy"
        if "xi" in self.params:
            advice = "raise the lower bound of xi or fix xi"
        else:
            advice = "choose a larger xi or nu"
        return (
            f"{known}; if that is not enough, {advice}, which makes reconstructions more accurate"
        )

    def _warnings(self) -> Iterator[str]:
        change = f"a tenth of its range changes f by less than {NEGLIGIBLE:.1%}"
        for parameter in self._learned["parameters"]:
            if not parameter["parameter"]["lower"] < parameter["parameter"]["upper"]:
                continue
            if parameter["parameter"].get("shape"):
                yield from self._block_warnings(parameter)
                continue
            name, bound = parameter["parameter"]["name"], parameter["at"]
            influence = parameter["influence"]
            is_negligible = influence is not None and influence < NEGLIGIBLE
            if bound is None:
                if is_negligible:
                    yield f"{name} hardly matters: {change}"
                continue
            # frequencies that need not be measured are at their lower bounds, which is no problem
            if self.model != "sampling":
                reached = f"{name} has reached its {bound} bound, {self.params[name]:.4g}"
                if is_negligible:
                    yield f"{reached}, and hardly matters: {change}"
                else:
                    yield f"{reached}: wider bounds may be better"

    def _gain_warnings(self) -> Iterator[str]:
        """The warning about reconstructions that are no better than the data."""
        scores = [(score["before"], score["after"]) for score in self._learned["training"]]
        psnrs = [(a["psnr"], b["psnr"]) for a, b in scores if a is not None and b is not None]
        psnrs = [(before, after) for before, after in psnrs if None not in (before, after)]
        if not psnrs:
            return
        before, after = np.mean(psnrs, axis=0)
        if after - before >= VISIBLE:
            return
        changes = "lowers" if before - after >= VISIBLE else "hardly changes"
        yield (
            f"reconstruction {changes} the mean PSNR of training images, from {before:.2f} dB to "
            f"{after:.2f} dB: if truth and data are swapped, pass truth first"
        )

    def _block_warnings(self, block: dict[str, Any]) -> Iterator[str]:
        # frequencies that need not be measured are at their lower bounds, which is no problem
        if self.model == "sampling":
            return
        name = block["parameter"]["name"]
        at = [entry["at"] for entry in _entries([block])]
        # the bounds of a filter bank are fixed
        is_fixed = self._about["family"] is not None
        advice = "" if is_fixed else ": wider bounds may be better"
        for bound in ("lower", "upper"):
            if reached := at.count(bound):
                yield (
                    f"{reached} of {counted(len(at), 'entry', 'entries')} of {name} reached the "
                    f"{bound} bound{advice}"
                )

    @property
    def history(self) -> pandas.DataFrame:
        """A table of all evaluations: parameters, `f`, and accuracy of the residuals.

        `target` is the accuracy that the solver asked for, and `achieved` the one it got; the first
        evaluations are inaccurate. With gradients, `target` is infinite, because accuracies are
        relative to steps. There are no columns for more than 1000 parameters. Where the model
        failed, `f` is NaN and `failure` has the reason. Needs pandas.
        """
        pd = _pandas()
        maps = [
            (p["parameter"]["name"], p["parameter"]["map"])
            for p in _entries(self._learned["parameters"])
        ]
        rows: list[dict[str, Any]] = []
        for evaluation in self._learned["evaluations"]:
            row = {"point": evaluation["point"], "purpose": evaluation["purpose"].lower()}
            row.update(
                {
                    name: _value(kind, theta)
                    for (name, kind), theta in zip(maps, evaluation["theta"])
                }
            )
            row["f"] = evaluation["objective"].get("Ok", math.nan)
            row["target"], row["achieved"] = (
                _number(evaluation["target"]),
                _number(evaluation["achieved"]),
            )
            row["work"] = evaluation["work"]
            row["failure"] = evaluation["objective"].get("Err")
            rows.append(row)
        table: pandas.DataFrame = pd.DataFrame(rows)
        table.index.name = "evaluation"
        table["total_work"] = table["work"].cumsum()
        return table

    @property
    def iterations(self) -> pandas.DataFrame:
        """A table of all iterations of the solver: the best `f` with its interval, radii, steps.

        With gradients, the radii are zero and `gradient` is the norm of the projected gradient.
        Needs pandas.
        """
        pd = _pandas()
        rows = []
        for iteration in self._learned["iterations"]:
            row = {
                key: value
                for key, value in iteration.items()
                if key not in ("number", "theta", "interval", "objective")
            }
            lower, upper = iteration["interval"]
            rows.append(
                {"f": iteration["objective"], "f_lower": lower, "f_upper": _number(upper), **row}
            )
        table: pandas.DataFrame = pd.DataFrame(rows)
        table.index.name = "iteration"
        return table

    @property
    def scores(self) -> pandas.DataFrame:
        """A table of scores of every image before and after reconstruction, for values in [0, 1].

        It is empty for a model that is a function. Images that were learned from without truth have
        an estimate of their mean squared error, and the noise level that it is for. Needs pandas.
        """
        pd = _pandas()
        rows = []
        for kind in ("training", "validation"):
            for index, score in enumerate(self._learned[kind]):
                row: dict[str, Any] = {"set": kind, "image": index}
                for name in ("mse", "psnr", "ssim"):
                    for when in ("before", "after"):
                        found = (score[when] or {}).get(name)
                        row[f"{name}_{when}"] = math.nan if found is None else found
                estimate = score.get("estimate")
                if estimate is not None:
                    row.update(mse_estimated=estimate["mse"], noise=estimate["sigma"])
                rows.append(row)
        table: pandas.DataFrame = pd.DataFrame(rows)
        return table

    def apply(
        self,
        data: Any,
        accuracy: float | None = None,
        *,
        max_iterations: int | None = None,
        channel_axis: int | None = None,
    ) -> Any:
        """Reconstruct with the learned parameters.

        Args:
            data: One image or volume of any size, of the kind of `data` in `learn`; an array of
                such images along its first axis; or a list of images.
            accuracy: The largest distance from the exact reconstruction, as a root mean square over
                its samples. Default: 0.001.
            max_iterations: The largest number of iterations for an image. Default: no limit.
            channel_axis: The axis of red, green and blue, in an array of pictures or in one
                picture. Default: the last one if the parameters were learned from pictures in
                colour. Parameters of grey pictures reconstruct each channel on its own.

        Returns:
            An image, an array or a list, like `data`, in single precision if `data` are. If
            `accuracy` was not reached, a `RuntimeWarning` gives the reason.

        NaN and masked entries are missing pixels, which are filled. Only sampling and filter banks
        for denoising refuse them. For a camera, `accuracy` is that of the transformed picture.

        Calling the result does the same, so it is a denoiser for functions that take one, such as
        `skimage.restoration.calibrate_denoiser`.

        Ctrl-C raises `KeyboardInterrupt`.

        >>> import bilevel
        >>> truth = bilevel.phantoms.box_functions(3, 32)
        >>> data = bilevel.add_noise(truth, 0.1)
        >>> result = bilevel.learn(truth, data, learn=("alpha",))
        >>> result.apply(data[0]).shape, result(data).shape
        ((32,), (3, 32))
        """
        if self._about["family"] is None:
            how = (
                "call model.reconstruct(result.theta, ...)"
                if self.model == "strongly convex"
                else "call your function with result.theta"
            )
            raise TypeError(f"a model written in Python computes its own reconstructions: {how}")
        ndim = self._about["ndim"]
        data = unmasked(data)
        if self._is_colour or channel_axis is not None:
            if self._is_volume:
                raise ValueError("channel_axis cannot be used for volumes: leave it out")
            axis = -1 if channel_axis is None else whole_axis(channel_axis)
            return self._apply_channels(data, axis, accuracy, max_iterations)
        if isinstance(data, (list, tuple)) and (len(data) == 0 or np.ndim(data[0]) >= ndim):
            return self._apply_all(data, accuracy, max_iterations)
        if ndim == 1 and is_table(data):
            # refused there, because its signals may be rows or columns
            return self._apply_all(data, accuracy, max_iterations)
        array = np.asarray(data)
        if array.ndim == ndim + 1 or array.ndim > 3:
            if ndim == 2:
                warn_of_stack("data", array)
            return like(np.stack(self._apply_all(array, accuracy, max_iterations)), array)
        if array.ndim != ndim:
            axes = ("", "one axis", "two axes", "three axes")[ndim]
            raise ValueError(
                f"data has shape {array.shape}, but the parameters were learned from images "
                f"with {axes}"
            )
        return like(self._apply("data", array, accuracy, max_iterations), array)

    __call__ = apply

    def _apply_channels(
        self, data: Any, axis: int, accuracy: float | None, max_iterations: int | None
    ) -> Any:
        """Reconstruct pictures with channels, each as a whole or channel by channel."""
        if is_array(data) and np.ndim(data) != 4:
            return self._apply_one("data", data, axis, accuracy, max_iterations)
        made = []
        for name, part in parts("data", data, axis):
            own = axis - 1 if is_array(data) and axis > 0 else axis
            made.append(self._apply_one(name, part, own, accuracy, max_iterations))
        return like(np.stack(made), data) if is_array(data) else made

    def _apply_one(
        self, name: str, data: Any, axis: int, accuracy: float | None, max_iterations: int | None
    ) -> Array:
        """Reconstruct one picture with channels."""
        is_whole = self._is_colour
        picture = rgb(name, data, axis, needs_three=is_whole, finite=False)
        if is_whole:
            made = self._apply(name, picture, accuracy, max_iterations)
        else:
            channels = np.moveaxis(picture, -1, 0)
            each = [self._apply(name, x, accuracy, max_iterations) for x in channels]
            made = np.stack(each, axis=-1)
        return like(np.ascontiguousarray(np.moveaxis(made, -1, axis)), data)

    def _apply_all(
        self, data: Any, accuracy: float | None, max_iterations: int | None
    ) -> list[Array]:
        """Reconstruct each of several images."""
        checked = images("data", data, complex_too=True, finite=False, is_volume=self._is_volume)
        made = [
            self._apply(f"data[{index}]", y, accuracy, max_iterations)
            for index, y in enumerate(checked)
        ]
        # the arrays of a list keep their own types
        return made if is_array(data) else [like(x, y) for x, y in zip(made, data)]

    def _apply(
        self, name: str, data: Any, accuracy: float | None, max_iterations: int | None
    ) -> Array:
        family, mask, kernel = (self._about[key] for key in ("family", "mask", "kernel"))
        is_sampling = self.model == "sampling"
        y = data
        if not self._is_colour:
            y = image(
                name,
                data,
                complex_too=is_sampling,
                finite=is_sampling,
                is_volume=self._is_volume,
            )
        if is_sampling and y.dtype.kind != "c":
            raise ValueError(f"{name} is real, but model='sampling' needs complex k-space")
        if is_sampling and y.size != self.theta.size:
            raise ValueError(f"{name} has {y.size} frequencies, but {self.theta.size} were learned")
        if not is_sampling:
            y = measured(name, y, family, mask)
            self._warn_of_unit(name, y)
        camera = of_numbers(self._about.get("camera"))
        if camera is not None:
            y = np.asarray(camera.transform(y))
        if kernel is not None and any(k > n for k, n in zip(kernel.shape, y.shape)):
            raise ValueError(
                f"{name} has shape {y.shape}, "
                f"which is smaller than the kernel of shape {kernel.shape}"
            )
        if kernel is not None and is_periodic(family):
            warn_of_blur(kernel, {name: y})
        wanted = 1e-3 if accuracy is None else nonnegative("accuracy", accuracy)
        values = np.hstack([np.ravel(value) for value in self.params.values()]).tolist()
        x = solve(
            family,
            kernel,
            mask,
            values,
            y,
            self._about["method"],
            wanted,
            max_iterations,
            shape=self._about.get("shape"),
        ).x
        return x if camera is None else np.asarray(camera.inverse(x))

    def _warn_of_unit(self, name: str, y: Array) -> None:
        """Warn of an image in another unit than the data that were learned from."""
        found, known = ends([y]), self._about.get("values")
        if not known or not found or not known[0] < known[1] or not found[0] < found[1]:
            return
        if not MIN_RANGE <= (found[1] - found[0]) / (known[1] - known[0]) <= MAX_RANGE:
            warn(
                f"the values of {name} lie between {found[0]:.3g} and {found[1]:.3g}, but the "
                f"parameters were learned from data between {known[0]:.3g} and {known[1]:.3g}: "
                "scale the image to their unit, or learn from images like it",
                UserWarning,
            )

    @property
    def _is_colour(self) -> bool:
        """Whether pictures are in colour, as one unknown."""
        family = self._about["family"]
        return family is not None and bool(family["model"].get("colour"))

    @property
    def _is_volume(self) -> bool:
        """Whether images are volumes."""
        return self._about["ndim"] == 3 and not self._is_colour

    def plot(self) -> Figure:
        """Draw the objective and the parameters over the evaluations. Needs matplotlib.

        >>> import bilevel
        >>> truth = bilevel.phantoms.box_functions(3, 32)
        >>> result = bilevel.learn(truth, bilevel.add_noise(truth, 0.1), learn=("alpha",))
        >>> len(result.plot().axes)
        2
        """
        from ._plot import plot

        return plot(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result as JSON, with all numbers exact. `load` reads it.

        >>> import bilevel, tempfile, pathlib
        >>> truth = bilevel.phantoms.box_functions(3, 32)
        >>> result = bilevel.learn(truth, bilevel.add_noise(truth, 0.1), learn=("alpha",))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "result.json"
        ...     result.save(path)
        ...     bilevel.load(path).params == result.params
        True
        """
        about = dict(self._about)
        about["kernel"] = None if about["kernel"] is None else about["kernel"].tolist()
        if about["mask"] is not None:
            about["mask"] = [
                "".join("01"[int(one)] for one in row) for row in np.atleast_2d(about["mask"])
            ]
        text = json.dumps(
            {"format": FORMAT, "version": VERSION, "about": about, "learned": self._learned},
            allow_nan=False,
        )
        write(path, text + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a file that `save` wrote, or the directory of a run."""
        if os.path.isdir(path):
            return cls._of_run(path)
        try:
            saved = json.loads(Path(path).read_text(encoding="utf-8"))
            if saved["format"] != FORMAT:
                raise KeyError("format")
            if saved["version"] not in (1, VERSION):
                raise ValueError(
                    f"{path} was written by another version of bilevel, "
                    f"in format {saved['version']}: read it with that version"
                )
            about = saved["about"]
            if saved["version"] == 1 and about["family"] is not None:
                about["family"] = _upgraded(about["family"])
            if about["kernel"] is not None:
                about["kernel"] = np.array(about["kernel"], dtype=np.float64)
            if about["mask"] is not None:
                mask = np.array([[one == "1" for one in row] for row in about["mask"]])
                about["mask"] = mask.reshape(-1) if about["ndim"] == 1 else mask
            return cls._made(saved["learned"], about)
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
            raise ValueError(
                f"{path} does not hold a result of bilevel: pass a file that Result.save wrote"
            ) from None

    @classmethod
    def _of_run(cls, path: str | os.PathLike[str]) -> Result:
        """Read the result of a run from its directory, or the best result so far."""
        about, learned = describe(path)
        if learned is not None:
            return cls._of(learned, about, None, learned["num_points"])
        from ._run import Run

        if about["model"] == OF_FUNCTIONS["model"]:
            raise RuntimeError(
                f"the run in {os.fspath(path)} has not ended, and its functions are not saved: "
                f"bilevel.resume({os.fspath(path)!r}, model=..., truth=..., data=...) continues it"
            )
        run = Run.resume(path)
        if run.theta is None:
            raise RuntimeError(
                f"nothing has been evaluated in {os.fspath(path)}: "
                f"bilevel.resume({os.fspath(path)!r}) continues the run"
            )
        if not run._core.has_ended():
            run._end("interrupted")
        return run.result()

    def _rows(self) -> list[tuple[str, str, str]]:
        """The rows of a summary: parameters, their values, and their ranges."""
        parameters = self._learned["parameters"]
        if self.model == "sampling":
            measured = sum(p["at"] != "lower" for p in _entries(parameters))
            return [("frequencies", str(self.theta.size), f"{measured} measured")]
        rows = []
        for p in parameters:
            about = p["parameter"]
            low, high = (_value(about["map"], about[side]) for side in ("lower", "upper"))
            value = self.params[about["name"]]
            if shape := about.get("shape"):
                size = " x ".join(str(length) for length in shape)
                text = f"{size} numbers from {value.min():.4g} to {value.max():.4g}"
            else:
                text = f"{value:.4g}"
            rows.append((about["name"], text, f"in [{low:.3g}, {high:.3g}]"))
        return rows

    def _after(self) -> str:
        """The points and the images behind `f`; old files do not name the images."""
        after, examples = (
            f"after {counted(self.num_points, 'point')}",
            self._about.get("examples"),
        )
        return after if examples is None else f"{after}, learned from {examples}"

    def _projected(self) -> str:
        """The norm of the projected gradient with its certified error."""
        made = self.gradient or {}
        norm, error = made.get("norm"), made.get("error")
        if error is None:
            return f"{_number(norm):.3g}, error not certified"
        return with_error(_number(norm), error, 3)

    def __repr__(self) -> str:
        ending = "converged" if self.converged else "NOT CONVERGED"
        lines = [f"bilevel.Result: {ending}, {self.message}"]
        lines += [f"  {name} = {value}  {note}" for name, value, note in self._rows()]
        lines += [f"  {name} = {value:.4g}  fixed" for name, value in self.fixed.items()]
        lines.append(f"  f = {with_error(self.f, self.f_error)}  {self._after()}")
        if self.gradient is not None:
            lines.append(f"  projected gradient = {self._projected()}")
        lines += [f"  warning: {warning}" for warning in self.warnings]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        cell = html.escape
        rows = [
            *self._rows(),
            *((name, f"{value:.4g}", "fixed") for name, value in self.fixed.items()),
        ]
        rows.append(("f", with_error(self.f, self.f_error), self._after()))
        if self.gradient is not None:
            rows.append(("projected gradient", self._projected(), ""))
        table = "".join(
            f"<tr><th>{cell(a)}</th><td>{cell(b)}</td><td>{cell(c)}</td></tr>" for a, b, c in rows
        )
        notes = "".join(f"<p><b>Warning:</b> {cell(warning)}</p>" for warning in self.warnings)
        ending = "Converged" if self.converged else "Not converged"
        return f"<p><b>{ending}:</b> {cell(self.message)}</p><table>{table}</table>{notes}"


def load(path: str | os.PathLike[str]) -> Result:
    """Read a result: a file that `Result.save` wrote, or the directory of a run.

    The directory was written by `learn(..., out=path)` or by the program `bilevel learn`. If the
    run has not ended, this is its best result so far.

    >>> import bilevel
    >>> bilevel.load("no-such-file.json")
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] No such file or directory: 'no-such-file.json'
    """
    return Result.load(path)


def _upgraded(family: dict[str, Any]) -> dict[str, Any]:
    """Convert the description of a family in files of version 1."""
    # sampling has numbers here, and the other models dictionaries
    values = {
        name: family[name] if isinstance(family[name], dict) else {"fixed": family[name]}
        for name in ("alpha", "nu", "xi")
    }
    fixed = {name: value["fixed"] for name, value in values.items() if "fixed" in value}
    learn = (
        ["theta"]
        if family["model"] == "sampling"
        else [name for name in values if name not in fixed]
    )
    return {
        "task": TASKS.get(family["model"], family["model"]),
        "model": {"learn": learn, "fixed": fixed},
    }


def _recently(learned: dict[str, Any]) -> str:
    """The decrease of the objective in the last third of the points, with advice."""
    last = learned["num_points"] // 3
    before = [
        i["objective"]
        for i in learned["iterations"]
        if i["num_points"] <= learned["num_points"] - last
    ]
    if last == 0 or not before or before[-1] is None or not before[-1] > 0.0:
        return ": there may be better parameters"
    gain = max(0.0, (before[-1] - learned["objective"]) / before[-1])
    advice = "more would hardly help" if gain < NEGLIGIBLE else "more may help"
    points = "point" if last == 1 else f"{last} points"
    return f"; the last {points} lowered f by {100.0 * gain:.3g} %: {advice}"


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("tables need pandas: pip install pandas") from None
    return pd
