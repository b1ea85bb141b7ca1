"""Missing pixels, single precision, and parameters for each picture."""

from __future__ import annotations

from typing import Any

import bilevel
import numpy as np
import pytest
from numpy.typing import NDArray

TRUTH = bilevel.phantoms.dead_leaves(2, (32, 28), seed=3)
DATA = bilevel.add_noise(TRUTH, 0.1, seed=3)
VALUES: dict[str, Any] = {"alpha": 0.1, "nu": 0.01, "xi": 1e-3, "accuracy": 1e-5}
ALPHA: dict[str, Any] = {"learn": ("alpha",), "fixed": {"nu": 0.01, "xi": 1e-3}, "max_points": 8}
HOLES = np.random.default_rng(2).random(TRUTH[0].shape) < 0.2


def holed(picture: NDArray[Any]) -> NDArray[Any]:
    return np.where(HOLES, np.nan, picture)


@pytest.fixture(scope="module")
def result() -> bilevel.Result:
    return bilevel.learn(TRUTH, DATA, **ALPHA)


def test_denoise_tv_fills_missing_pixels() -> None:
    made = bilevel.denoise_tv(holed(DATA[0]), **VALUES)
    assert made.error_bound <= 1e-5
    assert np.isfinite(made.x).all()
    masked = bilevel.denoise_tv(np.ma.masked_array(DATA[0], HOLES), **VALUES)
    assert np.array_equal(made.x, masked.x)
    black = np.where(HOLES, 0.0, DATA[0])
    assert bilevel.psnr(made.x, TRUTH[0]) > bilevel.psnr(black, TRUTH[0]) + 4
    # a tighter solve lies within the certified distance
    exact = bilevel.denoise_tv(holed(DATA[0]), **{**VALUES, "accuracy": 1e-8})
    assert np.sqrt(np.mean((made.x - exact.x) ** 2)) <= 1.001 * made.error_bound + 1e-8
    # hardly anything changes if one pixel is missing
    one = DATA[0].copy()
    one[3, 4] = np.nan
    assert (
        abs(bilevel.denoise_tv(one, **VALUES).x - bilevel.denoise_tv(DATA[0], **VALUES).x)[
            20:, 20:
        ].max()
        < 1e-2
    )
    with pytest.raises(ValueError, match="xi is 0"):
        bilevel.denoise_tv(holed(DATA[0]), 0.1, 0.01, 0.0, 1e-3)
    with pytest.raises(ValueError, match="NaN everywhere"):
        bilevel.denoise_tv(np.full((4, 4), np.nan), **VALUES)
    with pytest.raises(ValueError, match="inf at"):
        bilevel.denoise_tv(np.where(HOLES, np.inf, DATA[0]), **VALUES)


def test_the_objective_leaves_missing_pixels_out() -> None:
    """With all pixels, inpainting and denoising have the same minimiser."""
    y = DATA[0]
    whole = bilevel.denoise_tv(y, **VALUES).x
    mask = np.ones(y.shape, dtype=bool)
    from bilevel._denoise_tv import solve

    fixed = {name: VALUES[name] for name in ("alpha", "nu", "xi")}
    spec = {"task": "inpaint", "model": {"fixed": fixed}}
    inpainted = solve(spec, None, mask, [], y, "auto", 1e-5, None)
    assert np.sqrt(np.mean((inpainted.x - whole) ** 2)) <= 2.1e-5


def test_results_fill_missing_pixels(result: bilevel.Result) -> None:
    made = result(holed(DATA[0]))
    assert np.isfinite(made).all()
    assert np.array_equal(result(np.ma.masked_array(DATA[0], HOLES)), made)
    stack = np.stack([holed(DATA[0]), DATA[1]])
    assert np.array_equal(result(stack)[0], made)
    assert np.array_equal(result(list(stack))[0], made)
    assert np.array_equal(result([np.ma.masked_array(DATA[0], HOLES), DATA[1]])[0], made)
    colours = np.stack([holed(DATA[0])] * 3, axis=-1)
    assert np.array_equal(result(colours, channel_axis=-1)[..., 1], made)


def test_learn_with_missing_pixels() -> None:
    masked = np.ma.masked_array(DATA, np.stack([HOLES, HOLES]))
    made = bilevel.learn(TRUTH, masked, **ALPHA)
    assert made.model == "tv"
    given = bilevel.learn(TRUTH, DATA, "inpaint", mask=~HOLES, **ALPHA)
    assert made.params == given.params
    blind = bilevel.learn(None, [holed(y) for y in DATA], noise=0.1, **ALPHA)
    assert 0.3 < blind.params["alpha"] / made.params["alpha"] < 3
    # every image may lack other pixels, and have another size
    different = bilevel.learn([TRUTH[0], TRUTH[1, :20]], [holed(DATA[0]), DATA[1, :20]], **ALPHA)
    assert 0.3 < different.params["alpha"] / made.params["alpha"] < 3
    each = bilevel.learn(TRUTH, [holed(DATA[0]), DATA[1]], per_picture=True, **ALPHA)
    assert [one.model for one in each] == ["tv", "tv"]


def test_missing_pixels_in_colour_and_in_filter_banks() -> None:
    truth = bilevel.phantoms.dead_leaves(2, (24, 24), colour=True)
    data = bilevel.add_noise(truth, 0.1)
    data[:, 5:8, 3:9, 1] = np.nan
    made = bilevel.learn(truth, data, channel_axis=-1, max_points=6)
    assert np.isfinite(made(data)).all()
    # a pixel that lacks one channel lacks all of them
    lacking = data.copy()
    lacking[:, 5:8, 3:9] = np.nan
    assert np.array_equal(made(lacking), made(data))
    holes = np.isnan(data).any(axis=-1)
    given = bilevel.learn(truth, data, "inpaint", mask=~holes[0], channel_axis=-1, max_points=6)
    assert given.params == made.params
    filled = [holed(y) for y in DATA]
    banks = bilevel.learn(TRUTH, filled, "inpaint", filters="dct3", max_points=4)
    assert banks.model == "filters"
    assert np.isfinite(banks(filled[0])).all()
    masked = bilevel.learn(TRUTH, DATA, "filters", filters="dct3", mask=~HOLES, max_points=4)
    assert np.array_equal(masked.params["alpha"], banks.params["alpha"])


def test_where_missing_pixels_are_refused() -> None:
    with pytest.raises(ValueError, match=r"bilevel.denoise_tv\(image") as error:
        bilevel.denoise(holed(DATA[0]), 0.1)
    advice = str(error.value).split("call ")[1].split(" with alpha")[0]
    made = eval(advice, {"bilevel": bilevel, "image": holed(DATA[0])})
    assert np.isfinite(made.x).all()
    filters = bilevel.learn(TRUTH, DATA, "filters", filters="dct3", patches=0, max_points=2)
    with pytest.raises(ValueError, match="model='filters' needs all pixels"):
        filters(holed(DATA[0]))


def test_single_precision_stays(result: bilevel.Result) -> None:
    single = DATA.astype(np.float32)
    made = result(single)
    assert made.dtype == np.float32
    assert result(single[0]).dtype == np.float32
    assert [x.dtype for x in result([single[0], DATA[1]])] == [np.float32, np.float64]
    colours = np.stack([single[0]] * 3, axis=-1)
    assert result(colours, channel_axis=-1).dtype == np.float32
    assert result(DATA).dtype == np.float64
    assert bilevel.denoise_tv(single[0], **VALUES).x.dtype == np.float32
    assert bilevel.denoise(single[0], 0.1).image.dtype == np.float32
    assert bilevel.add_noise(single, 0.1).dtype == np.float32
    assert bilevel.add_noise([single[0]], 0.1)[0].dtype == np.float32
    camera = bilevel.Poisson(0.1)
    assert camera.inverse(camera.transform(single)).dtype == np.float32


def test_denoise_tv_of_channels() -> None:
    colours = np.stack([DATA[0], DATA[1], DATA[0]], axis=0)
    made = bilevel.denoise_tv(colours, **VALUES, channel_axis=0)
    for channel, x in zip(colours, made.x, strict=True):
        assert np.array_equal(x, bilevel.denoise_tv(channel, **VALUES).x)
    again = bilevel.denoise_tv(colours, **VALUES, channel_axis=0, start=made)
    assert again.iterations <= made.iterations


def test_each_picture_has_its_own_parameters() -> None:
    data = np.stack([bilevel.add_noise(TRUTH[0], 0.03), bilevel.add_noise(TRUTH[0], 0.15)])
    results = bilevel.learn(None, data, per_picture=True, noise=[0.03, 0.15], **ALPHA)
    assert [type(one) for one in results] == [bilevel.Result, bilevel.Result]
    assert results[1].params["alpha"] > 2 * results[0].params["alpha"]
    alone = bilevel.learn(None, data[1:], noise=0.15, **ALPHA)
    assert alone.params == results[1].params
    colours = np.stack([data[0]] * 3, axis=-1)[None]
    kept = bilevel.learn(
        None, colours, per_picture=True, noise=0.1, colour="channels", channel_axis=3, **ALPHA
    )
    assert len(kept) == 1
    for changes, message in (
        ({"out": "run"}, "out cannot be used"),
        ({"noise": [0.1]}, "1 number, but there are 2 images"),
    ):
        with pytest.raises(ValueError, match=message):
            bilevel.learn(None, data, per_picture=True, **{**ALPHA, **changes})
    with pytest.raises(ValueError, match="truth has 1 image"):
        bilevel.learn(TRUTH[:1], data, per_picture=True, **ALPHA)
    with pytest.raises(ValueError, match="looks like one colour picture"):
        bilevel.learn(None, np.ones((9, 8, 3)), per_picture=True, **ALPHA)
