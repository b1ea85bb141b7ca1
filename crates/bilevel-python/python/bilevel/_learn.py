"""`learn`: a run from its first step to its last."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from ._arrays import counted
from ._progress import Bar
from ._result import Result
from ._run import LEARN, Run
from ._settings import Model, Ranges, Values
from ._warn import warn


def learn(
    truth: Any,
    data: Any,
    model: Model = "tv",
    learn: Any = LEARN,
    fixed: Mapping[str, float] | None = None,
    start: Values | None = None,
    bounds: Ranges | None = None,
    objective: str = "mean",
    residuals: str = "auto",
    penalty: Mapping[str, Any] | None = None,
    evaluations: int = 100,
    method: str = "auto",
    accuracy: str | int = "dynamic",
    threads: int | None = None,
    seed: int = 0,
    callback: Callable[[Run], Any] | None = None,
    *,
    kernel: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    validation: tuple[Any, Any] | None = None,
    image_range: tuple[float | None, float | None] | None = None,
    progress: bool | None = None,
) -> Result:
    """Learn parameters θ such that `x̂(θ)`, reconstructed from `data`, is close to `truth`: minimise the mean of `‖x̂ᵢ(θ) − xᵢ‖²`.

    >>> import bilevel
    >>> truth = bilevel.phantoms.box_functions(5, 64)
    >>> data = bilevel.add_noise(truth, 0.1)
    >>> result = bilevel.learn(truth, data, learn=("alpha",), fixed={"nu": 1e-3, "xi": 1e-3})
    >>> 0.01 < result.params["alpha"] < 1.0
    True
    >>> result.f_error < 0.05 * result.f
    True

    Args:
        truth: What should come out: an array of shape (n, N) for n signals, (n, H, W) for n pictures, or a list of arrays of any sizes.
        data: What was measured, in the same shapes. `float64` that is C-contiguous is copied once, into the run; the rest is
            converted before.
        model: What reconstructs.

            - "tv": denoising, `½‖x − y‖² + α Σ √(‖∇x‖² + ν²) + ½ξ‖x‖²`.
            - "deblur", "inpaint": the same for blurred images (with `kernel`), or images of which only the pixels of `mask` were
              measured.
            - "sampling": signals from complex k-space, `numpy.fft.fft(x, norm="ortho")` with noise. One weight `θ/(1 − θ)` is learned
              for each frequency; (α, ν, ξ) are fixed.
            - A function `f(theta, accuracy, state)`, see below.
        learn: Which of alpha, nu and xi are learned (by default those that are not `fixed`); names of your own for a function.
        fixed: Values of the others; if they are not given, alpha = 0.1, nu = xi = 1e-3 (for sampling 0.01, 0.01 and 1e-4).
        start: Where they begin: a dictionary, or one number each in the order of `learn` (for sampling: one θ). Default: the paper's.
        bounds: Their smallest and largest values, likewise. Values are meant, not exponents.
        objective: "mean" or "sum" over images.
        residuals: What the solver sees of it: one number for each "image", or each "pixel"; "auto": pixel while there is memory.
            The objective is the same.
        penalty: What is added to it: `{"condition": w}` adds `w (L/μ)²`, which makes reconstructions cheap; `{"l1": w}` adds `w Σ|θ|`, for
            few frequencies (sampling, or a function). For sampling it is the square of a residual, or with `"l1_kind": "nonsmooth"` as it
            is; for a function it always is as it is.
        evaluations: At most so many different parameters are tried. Sampling has as many parameters as frequencies, and needs more.
        method: How reconstructions are computed: "auto", "fista" or "gd" (gradient descent).
        accuracy: "dynamic": as accurate as the solver needs them; or a number of iterations for each reconstruction.
        threads: How many. Default: one for each processor. Results do not depend on it.
        seed: 0: the first steps change one parameter at a time, and nothing is random. Another seed: they go in random orthogonal
            directions, to see whether the result depends on the path.
        callback: Called with the `Run` after every step. The run ends when it returns something true or raises `StopIteration`.
        kernel: The blur of model "deblur", with its origin in the middle. It wraps around at the borders.
        mask: True where pixels were measured, for model "inpaint".
        validation: `(truth, data)` that are not learned from, but judged in `result.scores`.
        image_range: The smallest and largest value that pixels of reconstructions may have, such as `(0, 1)` for grey values, or
            `(0, None)` for images that count photons. The reconstruction is then the best image with such values.
        progress: Whether a progress bar is shown. Default: in a terminal and in notebooks, if tqdm is installed.

    A function `f(theta, accuracy, state)` makes its own reconstructions (it knows its data; `data` is not looked at and may be `None`).
    `theta` are its parameters as they are; image i should have a Euclidean error of at most `accuracy[i]`; that may be infinite, or out of
    reach (zero, for example), and then what can be reached will do. `state` is what it returned at a nearby point or at this one, or `None`. It returns `(x, error, state)` or `(x, error, state, work)`: images like
    `truth`, how far each is from the exact one at most (one number for all, or one each), anything, and what it cost. It needs
    `start` and `bounds`, and may raise `Reject`.

    Ctrl-C ends the run after the evaluation under way (a function of yours is interrupted at once), and what was learned until then is
    returned, with a warning. A run cannot be saved midway; the program `bilevel` can (`bilevel learn`, `bilevel resume`). An exception of a
    function or the callback leaves as it is, with the run in its attribute `run`: `error.run.result()` is what was learned.

    Raises:
        ValueError, TypeError: An argument makes no sense; nothing was computed.
        RuntimeError: No reconstruction could be made at all.
    """
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of the run, not {callback!r}")
    run = Run(
        truth,
        data,
        model,
        learn,
        fixed,
        start,
        bounds,
        objective,
        residuals,
        penalty,
        evaluations,
        method,
        accuracy,
        threads,
        seed,
        kernel=kernel,
        mask=mask,
        validation=validation,
        image_range=image_range,
    )
    try:
        with Bar(run, evaluations, progress) as bar:
            goes_on = True
            while goes_on:
                goes_on = run.step()
                bar.update()
                if callback is not None and _ends(callback, run):
                    run.stop()
                    break
    except KeyboardInterrupt:
        # it may have come after a step, but before that was looked at
        run._look()
        if run.theta is None:
            raise
        run._end("interrupted")
        warn(
            f"interrupted after {counted(run.evaluations, 'evaluation')}: this is the best result so far",
            RuntimeWarning,
        )
    except Exception as error:
        with contextlib.suppress(Exception):
            run._look()
        if run.theta is not None:
            # an exception without a place for it is rare, and must not be hidden by another
            with contextlib.suppress(Exception):
                error.run = run  # type: ignore[attr-defined]
                if hasattr(error, "add_note"):
                    error.add_note("What was learned until then is error.run.result().")
        raise
    try:
        return run.result()
    except KeyboardInterrupt:
        # it came while all was summed up, and that is done now
        return run.result()


def _ends(callback: Callable[[Run], Any], run: Run) -> bool:
    """Whether the callback wants the run to end."""
    try:
        return bool(callback(run))
    except StopIteration:
        return True
