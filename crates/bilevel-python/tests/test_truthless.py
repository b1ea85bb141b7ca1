"""Learning without truth."""

from __future__ import annotations

import warnings
from typing import Any

import bilevel
import numpy as np
import pytest

TRUTH = bilevel.phantoms.dead_leaves(3, (48, 48))
DATA = bilevel.add_noise(TRUTH, 0.1)
ALPHA: dict[str, Any] = {"learn": ("alpha",), "fixed": {"nu": 0.01, "xi": 1e-3}}


@pytest.mark.parametrize("solver", ["gradient", "derivative-free"])
def test_sure_finds_nearly_the_best_weight(solver: str) -> None:
    best = bilevel.learn(TRUTH, DATA, **ALPHA)
    blind = bilevel.learn(None, DATA, noise=0.1, solver=solver, **ALPHA)
    assert 0.7 < blind.params["alpha"] / best.params["alpha"] < 1.4
    loss = [bilevel.psnr(best(y), x) - bilevel.psnr(blind(y), x) for x, y in zip(TRUTH, DATA)]
    assert np.mean(loss) < 0.1
    assert blind.f_error < 0.01 * blind.f


def test_gcv_needs_no_noise_level_and_truth_only_scores() -> None:
    blind = bilevel.learn(None, DATA, criterion="gcv", **ALPHA)
    scored = bilevel.learn(TRUTH, DATA, criterion="gcv", **ALPHA)
    assert blind.params == scored.params


def test_noise_is_estimated_or_given() -> None:
    flat = bilevel.add_noise(np.full((1, 64, 64), 0.5), 0.1)
    estimated = bilevel.learn(None, flat, **ALPHA)
    given = bilevel.learn(None, flat, noise=[bilevel.estimate_noise(flat[0])], **ALPHA)
    assert estimated.params == given.params


def test_blurred_and_masked_pictures_need_no_truth() -> None:
    kernel = np.full((1, 3), 1 / 3)
    blurred = bilevel.learn(None, DATA, "deblur", kernel=kernel, noise=0.1, max_points=5, **ALPHA)
    assert blurred.params["alpha"] > 0
    mask = np.ones((48, 48), bool)
    mask[::3] = False
    masked = bilevel.learn(None, DATA, "inpaint", mask=mask, noise=0.1, max_points=5, **ALPHA)
    assert masked.params["alpha"] > 0
    with pytest.raises(ValueError, match="such as noise=0.1, or use criterion='gcv'"):
        bilevel.learn(None, DATA, "inpaint", mask=mask, **ALPHA)
    with pytest.raises(ValueError, match=r"data\[0\] has shape \(48,\).* pass \[data\]"):
        bilevel.learn(None, DATA[0], **ALPHA)


def test_colours_without_truth_are_pictures_of_their_own() -> None:
    colours = np.moveaxis(DATA, 0, -1)[None]
    blind = bilevel.learn(None, colours, noise=0.1, channel_axis=-1, **ALPHA)
    assert blind.params == bilevel.learn(None, DATA, noise=0.1, **ALPHA).params
    with pytest.raises(ValueError, match="use colour='channels'"):
        bilevel.learn(None, colours, noise=0.1, colour="opponent", **ALPHA)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"criterion": "truth"}, "needs truth"),
        ({"criterion": "mse"}, "must be one of"),
        ({"criterion": "gcv", "noise": 0.1}, "noise is for criterion='sure'"),
        ({"noise": 0.0}, "must be positive"),
        ({"noise": [0.1, 0.1]}, "2 numbers, but there are 3 images"),
        ({"noise": 0.1, "image_range": (0, 1)}, "image_range cannot be used"),
        ({"noise": 0.1, "out": "run"}, "out cannot be used"),
    ],
)
def test_wrong_arguments_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bilevel.learn(None, DATA, **{**ALPHA, **changes})


def test_noise_in_another_unit_is_noticed() -> None:
    with pytest.warns(UserWarning, match=r"noise is 25, but .* 8-bit .* \(here 0.098\)"):
        bilevel.Run(None, DATA, criterion="sure", noise=25, **ALPHA)
    with pytest.warns(UserWarning, match=r"noise is 30, but the values of data\[1\]"):
        bilevel.Run(None, DATA, noise=[0.1, 30, 0.1], **ALPHA)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bilevel.Run(None, DATA, noise=[0.1, 0.2, 1.0], **ALPHA)
    with pytest.warns(UserWarning) as caught:
        bilevel.Run(None, 255.0 * DATA, noise=25, **ALPHA)
    assert len(caught) == 1 and "noise is 25" not in str(caught[0].message)


def test_poor_pictures_are_refused() -> None:
    with pytest.raises(ValueError, match="no noise|cannot be estimated"):
        bilevel.learn(None, np.full((1, 32, 32), 0.5), **ALPHA)
    with pytest.raises(ValueError, match="cannot be estimated"):
        bilevel.learn(None, np.full((1, 1, 1), 0.5), **ALPHA)
    with pytest.raises(ValueError, match="NaN|finite"):
        bilevel.learn(None, np.full((1, 8, 8), np.nan), noise=0.1, **ALPHA)
