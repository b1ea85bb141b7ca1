"""Pictures in colour: learning, applying, and arrays that are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bilevel
import numpy as np
import pytest

NAMES = ["alpha_luminance", "alpha_chroma", "nu", "xi"]


@pytest.fixture(scope="module")
def pictures() -> tuple[Any, Any]:
    truth = bilevel.phantoms.dead_leaves(3, (20, 18), seed=3, colour=True)
    return truth, bilevel.add_noise(truth, 0.1)


@pytest.fixture(scope="module")
def result(pictures: tuple[Any, Any]) -> bilevel.Result:
    truth, data = pictures
    return bilevel.learn(truth[:2], data[:2], channel_axis=-1, validation=(truth[2:], data[2:]))


def test_leaves_in_colour_are_the_grey_ones() -> None:
    colours = bilevel.phantoms.dead_leaves(2, (9, 7), seed=1, colour=True)
    assert colours.shape == (2, 9, 7, 3)
    assert colours.min() >= 0.0 and colours.max() <= 1.0
    grey = bilevel.phantoms.dead_leaves(2, (9, 7), seed=1)
    np.testing.assert_allclose(colours.mean(axis=-1), grey, atol=1e-15)
    assert np.ptp(colours, axis=-1).max() > 0.05


def test_learns_and_applies_in_colour(pictures: Any, result: bilevel.Result) -> None:
    truth, data = pictures
    assert list(result.params) == NAMES
    assert result.f_error < 0.05 * result.f
    denoised = result(data[2])
    assert denoised.shape == truth[2].shape
    gain = bilevel.psnr(denoised, truth[2], channel_axis=-1) - bilevel.psnr(
        data[2], truth[2], channel_axis=-1
    )
    assert gain > 3.0
    np.testing.assert_array_equal(result(data)[2], denoised)
    np.testing.assert_array_equal(result(list(data))[2], denoised)
    first = np.moveaxis(data, -1, 1)  # (n, 3, H, W)
    moved = result(first, channel_axis=1)
    assert moved.shape == first.shape
    np.testing.assert_array_equal(moved[2], np.moveaxis(denoised, -1, 0))
    scores = result.scores
    assert (
        abs(scores["psnr_after"].iloc[-1] - bilevel.psnr(denoised, truth[2], channel_axis=-1)) < 0.2
    )


def test_the_axis_of_channels_does_not_matter(pictures: Any, result: bilevel.Result) -> None:
    truth, data = (np.moveaxis(x[:2], -1, 1) for x in pictures)
    stacked = bilevel.learn(truth, data, channel_axis=1)
    listed = bilevel.learn(list(truth), list(data), channel_axis=0)
    assert stacked.params == result.params == listed.params


def test_couples_channels_better_than_one_by_one(pictures: Any, result: bilevel.Result) -> None:
    truth, data = pictures
    channels = bilevel.learn(truth[:2], data[:2], colour="channels")
    assert list(channels.params) == ["alpha", "nu", "xi"]
    both = [
        bilevel.psnr(made.apply(data[2], channel_axis=-1), truth[2], channel_axis=-1)
        for made in (result, channels)
    ]
    assert both[0] > both[1] + 0.5
    grey = bilevel.learn(truth[:2], data[:2], colour="grey", max_points=3)
    assert list(grey.params) == ["alpha", "nu", "xi"]


def test_filters_patches_and_names_of_weights(pictures: Any) -> None:
    truth, data = pictures
    made = bilevel.learn(
        truth,
        data,
        "filters",
        filters="dct3",
        patches=1,
        patch_size=8,
        channel_axis=-1,
        max_points=3,
    )
    assert made.params["alpha_luminance"].shape == made.params["spread_chroma"].shape == (8,)
    assert made(data[0]).shape == truth[0].shape
    part = bilevel.learn(
        truth,
        data,
        fixed={"alpha_chroma": 0.2, "nu": 0.01, "xi": 1e-3},
        start={"alpha_luminance": 0.1},
        channel_axis=-1,
        max_points=3,
    )
    assert list(part.params) == ["alpha_luminance"]
    both = bilevel.learn(
        truth, data, learn=("alpha",), fixed={"nu": 0.01, "xi": 1e-3}, channel_axis=-1, max_points=3
    )
    assert list(both.params) == NAMES[:2]


def test_runs_in_directories(pictures: Any, tmp_path: Path) -> None:
    truth, data = (x[:, :8, :9] for x in pictures)
    out = tmp_path / "run"
    made = bilevel.learn(truth, data, channel_axis=-1, out=out, max_points=4)
    loaded = bilevel.load(out)
    assert loaded.params == made.params
    np.testing.assert_array_equal(loaded(data[0]), made(data[0]))
    assert "in colour" in repr(loaded)
    assert bilevel.resume(out, max_points=6).num_points <= 6
    file = tmp_path / "result.json"
    made.save(file)
    np.testing.assert_array_equal(bilevel.load(file)(data[0]), made(data[0]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x[..., :2], "2 channels"),
        (lambda x: np.concatenate([x, x[..., :1]], axis=-1), "alpha channel"),
        (lambda x: x[..., :1], "which is grey"),
        (lambda x: x[0], "put one picture into a list"),
        (lambda x: [y[..., 0] for y in x], "three axes"),
        (lambda x: x + 0j, "complex"),
        (lambda x: x * np.where(np.arange(3) == 1, np.nan, 1.0), "must be finite"),
        (lambda x: [], "is empty"),
        (lambda x: [x[0], x[1], x[2][..., :2]], r"truth\[2\] has shape"),
        (lambda x: np.ma.masked_greater(x, 0.5), "masked"),
    ],
)
def test_refuses_arrays(pictures: Any, change: Any, message: str) -> None:
    truth, data = pictures
    with pytest.raises(ValueError, match=message):
        bilevel.learn(change(truth), data, channel_axis=-1)


def test_refuses_arguments(pictures: Any, result: bilevel.Result) -> None:
    truth, data = pictures
    with pytest.raises(ValueError, match="channel_axis=-1 for pictures in colour"):
        bilevel.learn(truth, data)
    with pytest.raises(ValueError, match=r"\[truth\] with channel_axis=-1"):
        bilevel.learn(truth[0], data[0])
    with pytest.raises(ValueError, match="'opponent', 'channels', 'grey'"):
        bilevel.learn(truth, data, colour="rgb")
    with pytest.raises(TypeError, match="whole number"):
        bilevel.learn(truth, data, channel_axis=1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="counts pictures"):
        bilevel.learn(truth, data, channel_axis=0)
    with pytest.raises(ValueError, match="colour='channels'"):
        bilevel.learn(truth, data, "sampling", channel_axis=-1)
    with pytest.raises(ValueError, match="alpha_luminance, alpha_chroma, nu, xi"):
        bilevel.learn(truth, data, learn=("beta",), channel_axis=-1)
    with pytest.raises(ValueError, match="three axes"):
        result(data[0, ..., 0])
