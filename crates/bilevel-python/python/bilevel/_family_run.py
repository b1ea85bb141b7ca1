"""A run with a family of the Rust crate."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _bilevel
from ._arguments import Arguments
from ._arrays import LARGE, Array, about, ends, flat, is_empty, kinds, unmasked, warn_of_stack
from ._camera import Poisson, transformed
from ._colour import Colour
from ._core import Core
from ._denoise import MAX_GIVEN
from ._mpi import Ranks
from ._settings import (
    LEAST_GAIN,
    Examples,
    Family,
    Patches,
    Penalty,
    check_filters,
    check_kernel,
    check_slices,
    halves,
    warn_of_blur,
)
from ._warn import warn


def check_alike(model: str, truth: Sequence[Array], other: Sequence[Array]) -> None:
    """Refuse validation images of another kind than the training images."""
    if not truth or not other:
        return
    mine, theirs = truth[0], other[0]
    if mine.ndim != theirs.ndim:
        held, learned = (kinds(x.ndim, 2, False).split()[1] for x in (theirs, mine))
        raise ValueError(f"validation holds {held}, but truth holds {learned}")
    if model == "sampling" and mine.size != theirs.size:
        raise ValueError(f"validation has {theirs.size} frequencies, but truth has {mine.size}")


def warn_of_values(truth: Sequence[Array], is_blind: bool, camera: Poisson | None) -> None:
    """Warn of values beyond [0, 1], for which the default starts and bounds are chosen.

    Without truth, `truth` holds the data.
    """
    largest = max((float(np.abs(array).max()) for array in truth), default=0.0)
    if largest > LARGE:
        scale = "255" if largest <= 255.0 else f"{largest:g}"
        name, what = ("data has", "data") if is_blind else ("truth has", "truth and data")
        if camera is not None:
            what += f" by {scale}, and likewise gain, read noise and black level of the camera"
        else:
            what += f" by {scale}"
        warn(
            f"{name} values of up to {largest:g}, but default starts and bounds, psnr and ssim "
            f"are for values in [0, 1], and learning may take very long: divide {what}",
            UserWarning,
        )


def warn_of_equal(examples: Sequence[Examples]) -> None:
    """Warn of data that are the truth."""
    pairs = [pair for part in examples for pair in zip(part.truth, part.data)]
    if pairs and all(np.array_equal(x, y) for x, y in pairs):
        warn(
            "data equal truth, so there is nothing to learn: pass the measured images as data, or "
            "add noise with bilevel.add_noise(truth, 0.1)",
            UserWarning,
        )


def warn_of_noise(examples: Examples) -> None:
    """Warn of a noise level that is larger than the range of the picture that has the noise."""
    for i, (y, noise) in enumerate(zip(examples.data, examples.noise)):
        lowest, highest = ends([y])
        if noise > max(MAX_GIVEN, highest - lowest):
            warn(
                f"noise is {noise:g}, but the values of data[{i}] lie between {lowest:.3g} and "
                f"{highest:.3g}: divide a noise level of 8-bit grey values by 255 (here "
                f"{noise / 255.0:.3f})",
                UserWarning,
            )
            return


def everywhere(data: Any, colours: Colour | None) -> NDArray[np.bool_] | None:
    """Return a mask of all pixels of the first image, for pictures in which NaN is missing."""
    if colours is not None or is_empty(data):
        return None
    first = np.asarray(data[0])
    if first.dtype.kind != "f" or not any(np.isnan(part).any() for part in data):
        return None
    return np.ones(first.shape, dtype=np.bool_)


def check_camera(given: Arguments) -> None:
    """Refuse arguments that do not fit a camera."""
    if given.model not in ("tv", "filters"):
        raise ValueError(
            "noise=bilevel.Poisson(...) is for model='tv' and model='filters', not for "
            f"{given.model!r}: only the data of denoising can be transformed"
        )
    given.refuse(
        ("image_range", "out"),
        "cannot be used with noise=bilevel.Poisson(...), because transformed pictures are learned "
        "from",
    )


class Prepared:
    """The arguments of a run, which were checked without the other ranks."""

    def __init__(
        self,
        given: Arguments,
        loss: dict[str, Any],
        solver: dict[str, Any],
        is_shared: bool,
    ) -> None:
        truth, data, noise = given.truth, unmasked(given.data), given.noise
        self.is_blind = truth is None
        is_whole = loss["criterion"] == "truth"
        colour = Colour.read(given.colour, given.channel_axis, str(given.model), is_whole)
        self.camera = noise if isinstance(noise, Poisson) else None
        if self.camera is not None:
            check_camera(given)
        mask = given.mask
        if given.model == "inpaint" and mask is None and given.kernel is None:
            mask = everywhere(data, colour)
        family = Family.read(given, mask, colour is not None and colour.is_whole)
        is_volume = check_slices(given.slices, family, colour)
        if family.model == "filters":
            check_filters(solver)
            solver = {**solver, "least_gain": LEAST_GAIN}
        if solver["kind"] == "gradient":
            refused = {"accuracy": solver["iterations"], "image_range": given.image_range}
            for name, value in refused.items():
                if value is not None:
                    raise ValueError(
                        f"solver='gradient' cannot be used with {name}: leave one of them out, or "
                        "use solver='derivative-free'"
                    )
        self.patches = Patches.read(
            family, given.patches, given.patch_size, solver["seed"], is_volume
        )
        if family.model == "sampling" and loss["criterion"] != "truth":
            raise ValueError("model='sampling' cannot learn without truth: pass it")
        if colour is not None and colour.is_whole and loss["criterion"] != "truth":
            raise ValueError("colour='opponent' cannot learn without truth: use colour='channels'")
        examples = Examples.read(
            family, truth, data, empty_too=is_shared, colour=colour, is_volume=is_volume
        )
        if self.camera is not None:
            noise = self.camera.sigma
        if loss["criterion"] == "sure":
            examples.find_noise(noise, family.mask)
            if self.camera is None:
                warn_of_noise(examples)
        held_out = Examples([], [])
        if given.validation is not None:
            other_truth, other_data = halves(given.validation)
            held_out = Examples.read(
                family, other_truth, other_data, "validation ", is_shared, colour, is_volume
            )
            check_alike(family.model, examples.truth, held_out.truth)
        check_kernel(family.kernel, "truth", examples.truth)
        check_kernel(family.kernel, "validation truth", held_out.truth)
        if family.model != "sampling" and colour is None:
            warn_of_stack("truth", data if self.is_blind else truth)
        warn_of_values(examples.truth, self.is_blind, self.camera)
        if loss["criterion"] == "truth":
            warn_of_equal([examples, held_out])
        if family.operator.given_kernel is not None:
            for warning in _bilevel.kernel_warnings(family.operator.given_kernel):
                warn(warning, UserWarning)
        if family.kernel is not None and family.is_periodic:
            measured = {f"data[{i}]": y for i, y in enumerate(examples.data)}
            measured |= {f"validation data[{i}]": y for i, y in enumerate(held_out.data)}
            warn_of_blur(family.kernel, measured)
        if family.model == "filters" and any(x.ndim < 2 for x in examples.truth):
            raise ValueError("truth holds signals, but model='filters' is for pictures")
        known: dict[str, tuple[str, ...]] = {
            "sampling": ("condition", "l1", "l1_kind"),
            "filters": (),
        }
        terms = Penalty.read(given.penalty, known.get(family.model, ("condition",)), family.model)
        # the unit of the images that a result can be called with
        self.values = ends(examples.data) if family.model != "sampling" else []
        for pairs in (examples, held_out):
            pairs.truth = transformed(self.camera, pairs.truth, "expected")
            pairs.data = transformed(self.camera, pairs.data, "transform")
        self.family, self.examples, self.held_out = family, examples, held_out
        self.settings = json.dumps(
            {**family.spec, "objective": {**loss, **vars(terms)}, "solver": solver}
        )

    def about(self) -> dict[str, Any]:
        """What a result says about its family."""
        family = self.family
        return {
            "model": family.model,
            "fixed": family.fixed,
            "family": family.spec,
            "kernel": family.kernel,
            "shape": family.operator.name,
            "mask": family.mask,
            "camera": None if self.camera is None else self.camera.numbers,
        }

    def start(self, out: str | os.PathLike[str] | None, ranks: Ranks) -> FamilyRun:
        """Start a run on all ranks."""
        before = ranks.shared(len(self.examples.truth))[: ranks.rank]
        examples, held_out = self.patches.of(self.examples, sum(before)), self.held_out
        own = [[x.shape for x in images] for images in (examples.truth, held_out.truth)]
        is_colour = bool(self.family.spec["model"].get("colour"))
        shared = ranks.shared((own, self.values))
        shapes = _all_shapes(self.family.model, [own for own, _ in shared], is_colour)
        none = np.empty(0)
        truth = [none if self.is_blind else flat(x) for x in examples.truth]
        run = _bilevel.Run(
            self.settings,
            [(x, flat(y), y.shape) for x, y in zip(truth, examples.data)],
            [(flat(x), flat(y), x.shape) for x, y in zip(held_out.truth, held_out.data)],
            {
                "kernel": self.family.kernel,
                "shape": self.family.operator.name,
                "mask": self.family.mask,
            },
            shapes[0],
            out,
            ranks.or_none(),
            examples.noise,
            None if self.camera is None else self.camera.numbers,
        )
        made = FamilyRun(run, run.blocks(), len(shapes[0]), about(shapes, is_colour))
        made.values = ends([values for _, values in shared])
        return made


def _all_shapes(model: str, ranks: Sequence[Any], is_colour: bool) -> list[tuple[int, ...]]:
    """Return the shapes of the training images of all ranks.

    All ranks refuse images of different kinds.
    """
    shapes = [shape for truth, _ in ranks for shape in truth]
    if not shapes:
        raise ValueError("truth is empty on all ranks: they hold no images")
    first = next(rank for rank, (truth, _) in enumerate(ranks) if truth)
    for rank, (truth, held_out) in enumerate(ranks):
        for shape in [*truth, *held_out]:
            if len(shape) != len(shapes[0]):
                own, others = (
                    kinds(len(x), 2, is_colour and len(x) == 3).split(maxsplit=1)[1]
                    for x in (shape, shapes[0])
                )
                raise ValueError(f"rank {rank} has {own}, but rank {first} has {others}")
            if model == "sampling" and shape != shapes[0]:
                raise ValueError(
                    f"rank {rank} has {shape[0]} frequencies, but rank {first} has {shapes[0][0]}"
                )
    return shapes


class FamilyRun(Core):
    """A run with a family of the Rust crate."""

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        max_points: int | None,
        threads: int | None,
        ranks: Ranks,
        is_colour: bool,
    ) -> tuple[FamilyRun, int]:
        """Open the run in a directory, and return it with the largest number of points."""
        run = _bilevel.Run.open(path, max_points, threads, ranks.or_none())
        shapes, budget, warnings = run.about()
        if ranks.rank == 0:
            for warning in warnings:
                warn(warning, UserWarning)
        examples = about([tuple(shape) for shape in shapes], is_colour)
        return cls(run, run.blocks(), len(shapes[0]), examples), budget or 0
