"""`learn` and `resume`: runs from the first step to the last."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, ParamSpec, Protocol, overload

import numpy as np

from ._arguments import Arguments, named_by
from ._arrays import counted, images, is_array, unmasked
from ._camera import Poisson
from ._colour import parts, whole_axis
from ._convex import StronglyConvex
from ._mpi import Ranks
from ._progress import Bar
from ._result import Result
from ._run import Run
from ._warn import warn

P = ParamSpec("P")
Q = ParamSpec("Q")


@dataclass(repr=False, eq=False)
class LearnArguments(Arguments):
    """The arguments of `learn`."""

    callback: Callable[[Run], Any] | None = None
    _: KW_ONLY
    progress: bool | None = None
    per_picture: bool = False


@dataclass(repr=False, eq=False, kw_only=True)
class Together(LearnArguments):
    """The arguments for the same parameters in all pictures."""

    per_picture: Literal[False] = False


@dataclass(repr=False, eq=False, kw_only=True)
class Separately(LearnArguments):
    """The arguments for parameters of each picture on its own."""

    per_picture: Literal[True]


class Learn(Protocol[P, Q]):
    """The type of `learn`: its arguments, once for each type of its result."""

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result: ...
    @overload
    def __call__(self, *args: Q.args, **kwargs: Q.kwargs) -> list[Result]: ...


def takes(
    together: Callable[P, Together], separately: Callable[Q, Separately]
) -> Callable[[Callable[[LearnArguments], Any]], Learn[P, Q]]:
    """Let `learn` take the fields of a dataclass as its arguments."""
    return lambda function: named_by(LearnArguments, function, 0)


@takes(Together, Separately)
def learn(given: LearnArguments) -> Result | list[Result]:
    """Learn the parameters θ of a reconstruction method from pairs of true images and data.

    The parameters minimise the mean of `‖x̂ᵢ(θ) − xᵢ‖²`, where `xᵢ` is a true image and `x̂ᵢ(θ)`
    its reconstruction from the data.

    >>> import bilevel
    >>> truth = bilevel.phantoms.box_functions(5, 64)
    >>> data = bilevel.add_noise(truth, 0.1)
    >>> result = bilevel.learn(truth, data, learn=("alpha",), fixed={"nu": 1e-3, "xi": 1e-3})
    >>> 0.01 < result.params["alpha"] < 1.0
    True
    >>> result.f_error < 0.05 * result.f
    True

    Without truth:

    >>> settings = {"learn": ("alpha",), "fixed": {"nu": 1e-3, "xi": 1e-3}}
    >>> blind = bilevel.learn(None, data, noise=0.1, **settings)
    >>> 0.5 < blind.params["alpha"] / result.params["alpha"] < 2.0
    True

    Args:
        truth: The true images: an array of shape (n, N) for n signals or (n, H, W) for n
            pictures, or a list of arrays of any sizes. An array that looks like one colour picture
            or one volume is refused, with the expression to pass instead. For pictures in colour,
            see `colour` and `channel_axis`, and for volumes `slices`. `None` learns without truth,
            from the data alone, see `criterion`.
        data: The measured images, in the same shapes. C-contiguous `float64` arrays are copied
            once, into the run; other arrays are converted before. NaN and masked entries are
            missing pixels, which are left out and filled; only "sampling" and filter banks for
            denoising refuse them.
        model: The reconstruction method.

            - "tv": denoising, `½‖x − y‖² + α Σ √(‖∇x‖² + ν²) + ½ξ‖x‖²`.
            - "filters": denoising of pictures with a bank of filters, whose potentials replace the
              total variation; better than "tv" on photographs, and still certified. All
              parameters are learned, and learning ends when ten points gain less than 0.1 % of
              the objective. See `filters` and `patches`.
            - "deblur": the same as "tv" for blurred images, with the blur `kernel`; with `filters`,
              a bank with convex potentials replaces the total variation.
            - "inpaint": the same for images that were measured only where `mask` is true, or where
              `data` are not NaN.
            - "sampling": signals from complex k-space, `numpy.fft.fft(x, norm="ortho")` with
              noise. One weight `θ/(1 − θ)` is learned for each frequency; α, ν and ξ are fixed.
            - A `StronglyConvex` function of your own, with gradients and optionally Hessian
              products, which the solver of this package minimises.
            - A function `f(theta, accuracy, state)` of your own that reconstructs, see below.
        learn: The names of the parameters to learn. Default: those of alpha, nu and xi that are not
            in `fixed`; for "deblur" only alpha and nu. "deblur" has "width", too, for a `kernel`
            that is given as "gaussian:2" or "disc:5": its standard deviation or radius. For a model
            of your own, the names are your choice.
        fixed: The values of parameters that are not learned. Default: alpha = 0.1 and
            nu = xi = 1e-3; for sampling alpha = nu = 0.01 and xi = 1e-4; for deblurring
            alpha = 3e-4, nu = 0.01 and xi = 1e-4.
        start: The values where learning starts: a dictionary, or one number for each name in
            `learn` (for sampling, one θ for all frequencies). Default: alpha = 1 and nu = xi = 0.1;
            for sampling θ = 0.5; for deblurring alpha = 1e-3 and nu = 0.01. For a model of your
            own, a parameter that starts at an array is a block of that shape, with one pair of
            bounds. Without names, one pair of `bounds` makes all numbers one block, `theta`.
        bounds: The smallest and largest value of each parameter: a dictionary of pairs, or one pair
            for each name in `learn`. These are values, not exponents.
        objective: "mean" or "sum" over the images.
        residuals: The residuals for the derivative-free solver: one for each "image" or one for
            each "pixel", which needs fewer evaluations. The objective is the same.
        penalty: Terms that are added to the objective. `{"condition": w}` adds `w (L/μ)²`, which
            favours parameters with cheap reconstructions. `{"l1": w}` adds `w Σ|θ|`, which favours
            few frequencies (for sampling and functions only). For sampling, the derivative-free
            solver treats that sum as the square of one more residual, or as a non-smooth term with
            `"l1_kind": "nonsmooth"`. For a function it is always a non-smooth term.
        max_points: The largest number of points, that is, of different values of the parameters
            that are tried. Sampling has one parameter for each frequency, and needs more points.
        method: The method of the reconstruction problems: "auto", "fista" or "gd" (gradient
            descent).
        accuracy: "dynamic" computes each reconstruction as accurately as the solver needs it. A
            number sets the iterations of each reconstruction.
        threads: The number of threads. Default: one for each processor. Results do not depend on
            it.
        seed: The random seed of the positions of patches and of the derivative-free solver. With 0,
            the first steps of that solver change one parameter at a time. With another seed they go
            in random orthogonal directions, which shows whether the result depends on the path.
        callback: A function that is called with the `Run` after every step. The run ends when it
            returns a true value or raises `StopIteration`.
        filters: The filters of model "filters", "deblur" or "inpaint": "dct3", "dct5" or "dct7"
            (cosine filters of 3, 5 or 7 pixels along each axis), or "learned3", "learned5" or
            "learned7", whose filters are learned, too. Default: "dct5" for model "filters".
        patches: The number of square patches that are drawn from each training picture, at random
            positions that depend on `seed`. With 0, pictures are used whole. Default: 4 with
            `filters`, and otherwise 0. With a mask, and for volumes, images are always whole.
        patch_size: The rows and columns of a patch. Smaller pictures are used whole.
        kernel: The blur of model "deblur": an array with its origin in the middle, which is divided
            by its sum, or "gaussian:2" (standard deviation in pixels), "disc:5" (radius) or
            "motion:15@30" (length and degrees).
        boundary: What lies beyond the borders of blurred images: "unknown" values, as in a camera
            (default), or copies of the image itself, "periodic".
        mask: True where pixels were measured, for all images alike: for model "inpaint", and for
            "deblur", whose dead or saturated pixels are False. Results have the same mask.
        validation: Held-out images `(truth, data)`, which are not learned from, only scored in
            `result.scores`.
        image_range: The smallest and largest value that a pixel of a reconstruction may have, such
            as `(0, 1)` for grey values or `(0, None)` for photon counts. The reconstruction then
            minimises over such images only.
        solver: "gradient" learns with gradients, whose work hardly depends on the number of
            parameters; "derivative-free" learns without. "auto" uses gradients unless `model` is a
            function or lacks `hessian_product`, `image_range` is given, or `accuracy` is a number.
        kappa: With gradients, the largest error of a reconstruction, as a share of its change in
            a step. Results hardly depend on it.
        criterion: The criterion to minimise: "truth", the squared distance from the truth;
            "sure", Stein's unbiased risk estimate for Gaussian noise of a known level; or "gcv",
            generalised cross-validation for noise of an unknown level. The last two need no truth;
            if there is one, it only scores the result. Default: "truth", and "sure" if `truth` is
            `None`. The interval of `f` certainly contains the value of the criterion. That the
            criterion estimates the error is true only on average over the noise, and not certified.
        noise: For "sure", the standard deviation of the noise: one number, or one for each image.
            Default: it is estimated in each picture, see `estimate_noise`.
            `bilevel.Poisson(gain, read)` is the noise of a camera that counts photons, with or
            without truth, for "tv" and "filters". Parameters are then learned from transformed
            pictures, and the result transforms the pictures that it is called with. `f` and
            certified errors refer to transformed pictures, and scores to the pictures themselves.
        out: A new directory for the run, which is saved there after every evaluation, with its
            images. `bilevel.resume(out)` continues a run that was interrupted or killed, to the
            same bits; `bilevel.load(out)` reads its result. The program `bilevel` works on the
            same directories: `bilevel resume`, `bilevel report`, `bilevel apply`. A
            `StronglyConvex` model is not saved: pass it to `resume` again, with truth and data.
            Not available without truth, with a camera, or for a function, whose states are Python
            objects.
        per_picture: Whether to learn parameters for each picture on its own. The result is then a
            list with one result for each, and `truth` is usually `None`: one noisy picture is
            enough to learn its parameters. `noise` may hold one number for each picture.
        progress: Whether to show a progress bar. Default: in a terminal and in notebooks, if tqdm
            is installed.
        comm: A communicator of mpi4py, such as `MPI.COMM_WORLD`, for images that are spread over
            machines. Every rank calls `learn` with its own images, possibly none, and with the
            same settings. The training images are those of all ranks, in the order of the ranks,
            and every rank returns the result of one process with all images, to the last bit. A
            failure, a signal or the end by `callback` on one rank ends all ranks together. With
            `out`, all ranks write into that directory, which needs a common file system, and
            `bilevel report` writes the page of the run afterwards, except for `StronglyConvex`
            models. Not available for a function.
        colour: The treatment of pictures in colour, which are arrays (n, H, W, 3) or lists of
            arrays (H, W, 3). "opponent" learns from whole pictures, with one weight or filter bank
            for their luminance and one for their chroma. "channels" takes every channel as a
            picture of its own, for channels that have nothing to do with each other; all share the
            same parameters. "grey" learns from the luminance. Default: "opponent" if there is a
            `channel_axis`, or "channels" for a `criterion` without truth.
        channel_axis: The axis of the channels, in an array of pictures or in one picture of a list.
            Default: the last one if `colour` is given; otherwise pictures are grey.
        slices: With "volume", images are volumes: an array (n, D, H, W), or a list of arrays
            (D, H, W). Each is denoised as a whole, with differences along three axes, by model
            "tv". With "pictures", an array (n, H, W) may hold slices, as pictures of their own.

    A function `f(theta, accuracy, state)` computes the reconstructions itself; it has its own
    data, and `data` is ignored and may be `None`. `theta` holds the parameters. The function
    should compute image i with a Euclidean error of at most `accuracy[i]`. If that is infinite, any
    error will do; if it is out of reach, such as zero, the smallest possible error will do.
    `state` is the state that the function returned for these or for nearby parameters, or `None`.
    The function returns `(x, error, state)` or `(x, error, state, work)`: the images in the shapes
    of `truth`, an upper bound on the error of each (one number for all, or one for each), any
    object as the state, and the cost. It may raise `Reject`. With a function, `start` and `bounds`
    are required.

    Ctrl-C ends the run after the current evaluation (it interrupts a function at once), and with
    `comm` so does SIGTERM. The best result so far is returned, with a warning. An exception of a
    function or of the callback is raised unchanged, with the run in its attribute `run`:
    `error.run.result()` is the best result so far.

    Raises:
        ValueError, TypeError: An argument is invalid; nothing was computed.
        FileExistsError: The directory `out` exists and is not empty.
        RuntimeError: No reconstruction could be computed, or the run could not be saved.
    """
    if given.per_picture:
        given.refuse(("out", "comm"), "cannot be used with per_picture=True")
        return _each(given)
    return _learn(given)


def _learn(given: LearnArguments) -> Result:
    """Learn parameters for all pictures together."""
    ranks = Ranks.of(given.comm)
    with ranks.waiting_signals():
        with ranks.agreed():
            check_callback(given.callback)
        run = Run.__new__(Run)
        run._start(replace(given, comm=ranks))
        return drive(run, given.callback, given.progress)


def _each(given: LearnArguments) -> list[Result]:
    """Learn parameters for each picture on its own."""
    truth, data, axis = given.truth, given.data, given.channel_axis
    noise: Any = given.noise
    if axis is None and given.colour is None:
        is_volume = given.slices == "volume"
        pictures = images(
            "data", unmasked(data), complex_too=True, finite=False, is_volume=is_volume
        )
    else:
        whole = -1 if axis is None else whole_axis(axis)
        pictures = [part for _, part in parts("data", unmasked(data), whole)]
        if is_array(data) and whole > 0:
            axis = whole - 1
    count = len(pictures)
    if truth is not None and len(truth) != count:
        raise ValueError(f"truth has {counted(len(truth), 'image')}, but data has {count}")
    levels = [noise] * count
    if noise is not None and not isinstance(noise, Poisson) and np.ndim(noise) > 0:
        levels = list(noise)
        if len(levels) != count:
            raise ValueError(
                f"noise has {counted(len(levels), 'number')}, but there are "
                f"{counted(count, 'image')}: pass one for all, or one for each"
            )
    made = []
    for index, (picture, level) in enumerate(zip(pictures, levels)):
        own = None if truth is None else [truth[index]]
        made.append(
            _learn(replace(given, truth=own, data=[picture], noise=level, channel_axis=axis))
        )
    return made


def resume(
    path: str | os.PathLike[str],
    max_points: int | None = None,
    threads: int | None = None,
    callback: Callable[[Run], Any] | None = None,
    *,
    progress: bool | None = None,
    comm: Any = None,
    model: StronglyConvex | None = None,
    truth: Any = None,
    data: Any = None,
    validation: tuple[Any, Any] | None = None,
) -> Result:
    """Continue the run in a directory, and return its result.

    The directory was written by `learn(..., out=path)` or by the program `bilevel learn`. The
    result is the same, to the last bit, as that of a run without a break. A run that has ended is
    not computed again.

    >>> import bilevel, tempfile, pathlib
    >>> truth = bilevel.phantoms.box_functions(3, 32)
    >>> data = bilevel.add_noise(truth, 0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out = pathlib.Path(folder) / "run"
    ...     first = bilevel.learn(truth, data, out=out, callback=lambda run: run.num_points > 5)
    ...     second = bilevel.resume(out)
    >>> first.converged, second.converged
    (False, True)

    Args:
        path: The directory of the run.
        max_points: A new limit on the points of the whole run, earlier ones included. It also
            continues a run that has reached its limit. Default: the limit of the run.
        threads: The number of threads. Default: that of the first call.
        callback: As in `learn`.
        progress: As in `learn`.
        comm: A communicator of mpi4py, as in `learn`. The number of ranks need not be that of
            earlier calls. Each rank reads the images and keeps its share.
        model: Only for a run with a `StronglyConvex` model: the same functions as before. They are
            not saved, and nothing can tell whether they are the same.
        truth: Only for such a run: the true images, as in `learn`. With `comm`, those of this rank.
        data: Only for such a run: their data. Arrays must be the same as before; other objects
            are not compared.
        validation: Only for such a run: the held-out images, if there were any.

    Raises:
        FileNotFoundError: There is no run in the directory.
        RuntimeError: Another process works on the run, its files or images have changed, or it
            cannot be saved.
    """
    ranks = Ranks.of(comm)
    with ranks.waiting_signals():
        with ranks.agreed():
            check_callback(callback)
        run = Run.resume(
            path,
            max_points,
            threads,
            comm=ranks,
            model=model,
            truth=truth,
            data=data,
            validation=validation,
        )
        if max_points is not None and run._core.has_ended():
            warn("the run is complete: more points would change nothing", UserWarning)
        return drive(run, callback, progress)


def check_callback(callback: Any) -> None:
    """Refuse a callback that cannot be called."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of the run, not {callback!r}")


def drive(run: Run, callback: Callable[[Run], Any] | None, progress: bool | None) -> Result:
    """Drive a run to its end, and return its result."""
    ranks = run._ranks
    try:
        with ranks.agreed():
            shown = Bar(run, run._budget, progress if ranks.rank == 0 else False)
        with shown as bar:
            goes_on = True
            while goes_on:
                goes_on = run._step()
                bar.update()
                if ranks.any_ends(lambda: callback is not None and _ends(callback, run)):
                    run.stop()
                    break
    except KeyboardInterrupt:
        # it may have come after a step, but before its progress was read
        run._look()
        if run.theta is None:
            run._detach()
            raise
        run._end("interrupted")
        warn(
            f"interrupted after {counted(run.num_points, 'point')}: "
            f"this is the best result so far{run._how_to_continue()}",
            RuntimeWarning,
        )
    except Exception as error:
        with contextlib.suppress(Exception):
            run._look()
            run._detach()
        if run.theta is not None:
            # some exceptions have no attributes; they must not be hidden by an AttributeError
            with contextlib.suppress(Exception):
                error.run = run  # type: ignore[attr-defined]
                if hasattr(error, "add_note"):
                    error.add_note(
                        "The best result so far is error.run.result()" + run._how_to_continue()
                    )
        raise
    try:
        return run.result()
    except KeyboardInterrupt:
        # it came while the result was computed, which is done now
        return run.result()


def _ends(callback: Callable[[Run], Any], run: Run) -> bool:
    """Whether the callback ends the run."""
    try:
        return bool(callback(run))
    except StopIteration:
        return True
