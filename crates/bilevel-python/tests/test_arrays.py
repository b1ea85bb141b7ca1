"""Forms of pictures: each is used as its owner means it, or refused with what to write instead."""

from __future__ import annotations

import warnings
from typing import Any

import bilevel
import numpy as np
import pytest

VALUES = {"alpha": 0.2, "nu": 0.05, "xi": 0.01, "accuracy": 1e-2}
TRUTH = bilevel.phantoms.dead_leaves(2, (12, 10), seed=3)
DATA = bilevel.add_noise(TRUTH, 0.1, seed=3)


@pytest.fixture(scope="module")
def result() -> bilevel.Result:
    return bilevel.learn(TRUTH, DATA, learn=("alpha",), max_points=6)


@pytest.fixture(scope="module")
def of_signals() -> bilevel.Result:
    return bilevel.learn(TRUTH[0], DATA[0], learn=("alpha",), max_points=3)


def evaluated(advice: str, **names: Any) -> Any:
    """The expression that a message tells to pass."""
    return eval(advice, {"numpy": np, **names})


# A form, and the expression that the message must give.
STACKS = [
    ((9, 8, 3), "colour picture", "[truth[..., c] for c in range(3)]"),
    ((9, 8, 4), "colour picture", "[truth[..., c] for c in range(3)]"),
    ((9, 8, 2), "colour picture", "[truth[..., c] for c in range(2)]"),
    ((9, 8, 1), "colour picture", "[truth[..., 0]]"),
    ((9, 9, 5), "volume of 5 slices", "list(numpy.moveaxis(truth, -1, 0))"),
    ((9, 9, 12), "volume of 12 slices", "list(numpy.moveaxis(truth, -1, 0))"),
    ((2, 1, 9, 8), "pictures have two axes", "truth[:, 0]"),
    ((2, 9, 8, 1), "pictures have two axes", "truth[..., 0]"),
    ((2, 9, 8, 3), "all channels", "[x[..., c] for x in truth for c in range(3)]"),
    ((2, 9, 8, 4), "all channels", "[x[..., c] for x in truth for c in range(3)]"),
    ((2, 3, 9, 8), "in one list", "[x for part in truth for x in part]"),
]


@pytest.mark.parametrize(("shape", "message", "advice"), STACKS)
def test_stacks_that_can_be_misread(
    shape: tuple[int, ...], message: str, advice: str, result: bilevel.Result
) -> None:
    truth = np.random.default_rng(1).random(shape)
    for attempt in (
        lambda: bilevel.learn(truth, truth, max_points=2),
        lambda: bilevel.learn(truth.astype(np.float32), truth),
        lambda: bilevel.Run(list(TRUTH), list(DATA), validation=(truth, truth)),
        lambda: bilevel.learn(truth, None, model=lambda *_: None, start=[1.0], bounds=[(0, 2)]),
    ):
        with pytest.raises(ValueError, match=message) as error:
            attempt()
        if "validation" not in str(error.value):
            assert advice in str(error.value)
    with pytest.raises(ValueError, match=message) as error:
        result.apply(truth)
    assert advice.replace("truth", "data") in str(error.value)
    # the advice is what the user should have written
    pictures = evaluated(advice, truth=truth)
    assert bilevel.learn(pictures, pictures, max_points=1).num_points == 1
    assert len(result.apply(pictures)) == len(pictures)


@pytest.mark.parametrize("shape", [(9, 8, 3), (9, 9, 5), (12, 30, 7)])
def test_narrow_pictures_are_passed_as_a_list(
    shape: tuple[int, ...], result: bilevel.Result
) -> None:
    truth = np.random.default_rng(1).random(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = bilevel.Run(list(truth), list(0.9 * truth))
        made = result.apply(list(truth))
    assert run._about["examples"] == f"{shape[0]} pictures of {shape[1]} × {shape[2]}"
    assert np.shape(made) == shape


@pytest.mark.parametrize(
    "shape", [(2, 3, 3), (3, 9, 8), (2, 9, 8), (9, 8, 9), (4, 4, 4), (5, 9, 6)]
)
def test_other_stacks_are_stacks(shape: tuple[int, ...], result: bilevel.Result) -> None:
    truth = np.random.default_rng(1).random(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bilevel.Run(truth, 0.9 * truth)
        assert result.apply(truth).shape == shape


def test_a_volume_that_looks_like_narrow_pictures_is_warned_of(result: bilevel.Result) -> None:
    volume = np.random.default_rng(1).random((12, 30, 7))
    with pytest.warns(UserWarning, match=r"12 pictures of 30 × 7: if it is a volume of 7 slices"):
        bilevel.Run(volume, volume)
    with pytest.warns(UserWarning, match=r"list\(numpy.moveaxis\(data, -1, 0\)\)"):
        result.apply(volume)


@pytest.mark.parametrize(
    ("shape", "advice"),
    [
        ((9, 8, 3), "[truth[..., c] for c in range(3)]"),
        ((9, 8, 4), "[truth[..., c] for c in range(3)]"),
        ((5, 9, 8), "truth[0]"),
        ((9, 8, 5), "truth[0]"),
        ((2, 3, 9, 8), "truth[0]"),
        ((1, 9, 8), "numpy.squeeze(truth)"),
        ((1, 1, 9, 8), "numpy.squeeze(truth)"),
        ((9, 8, 1), "numpy.squeeze(truth)"),
    ],
)
def test_where_one_picture_is_expected(shape: tuple[int, ...], advice: str) -> None:
    truth = np.random.default_rng(1).random(shape)
    for name, attempt in (
        ("y", lambda: bilevel.denoise_tv(truth, **VALUES)),
        ("x", lambda: bilevel.mse(truth, truth)),
        ("x", lambda: bilevel.psnr(truth, truth)),
        ("x", lambda: bilevel.ssim(truth, truth)),
    ):
        with pytest.raises(ValueError) as error:
            attempt()
        assert f"{name} has shape {shape}" in str(error.value)
        assert advice.replace("truth", name) in str(error.value)


@pytest.mark.parametrize(
    ("shape", "advice"),
    [
        ((9, 8, 3), "[x[..., c] for x in truth for c in range(3)]"),
        ((5, 9, 8), "[x for volume in truth for x in volume]"),
        ((1, 9, 8), "[numpy.squeeze(x) for x in truth]"),
        ((9, 8, 1), "[numpy.squeeze(x) for x in truth]"),
    ],
)
def test_lists_of_colour_pictures_and_volumes(
    shape: tuple[int, ...], advice: str, result: bilevel.Result
) -> None:
    truth = [np.random.default_rng(i).random(shape) for i in range(2)]
    with pytest.raises(ValueError) as error:
        bilevel.learn(truth, truth)
    assert str(error.value).startswith(f"truth[0] has shape {shape}")
    assert advice in str(error.value)
    with pytest.raises(ValueError) as error:
        result.apply(truth)
    assert advice.replace("truth", "data") in str(error.value)
    pictures = evaluated(advice, truth=truth)
    assert bilevel.Run(pictures, pictures)._about["examples"].endswith("pictures of 9 × 8")


def masked(array: Any, entries: int = 1) -> Any:
    mask = np.zeros(array.shape, bool)
    mask.reshape(-1)[:entries] = True
    return np.ma.masked_array(array, mask)


def test_masks_are_not_lost_in_silence(result: bilevel.Result) -> None:
    y = DATA[0]
    for attempt in (
        lambda x: bilevel.learn([x], [y]),
        lambda x: bilevel.learn([y], [y], model="deblur", kernel=x),
        lambda x: bilevel.learn(TRUTH, DATA, model="inpaint", mask=masked(y > 0.5)),
        lambda x: bilevel.add_noise(x, 0.1),
        lambda x: bilevel.add_noise([y, x], 0.1),
        lambda x: bilevel.psnr(x, y),
        lambda x: bilevel.ssim(y, x),
    ):
        with pytest.raises(ValueError, match=r"is a masked array with \d+ masked entr.*filled"):
            attempt(masked(y))
    with pytest.raises(ValueError, match=r"truth\[1\] is a masked array with 1 masked entry,"):
        bilevel.learn([y, masked(y)], [y, y])
    for nothing in (masked(y, 0), np.ma.masked_array(y)):
        assert result.apply(nothing).tobytes() == result.apply(y).tobytes()
        assert bilevel.psnr(nothing, TRUTH[0]) == bilevel.psnr(y, TRUTH[0])
        assert type(bilevel.add_noise(nothing, 0.1)) is np.ndarray


def test_objects_are_arrays_of_arrays_or_refused(result: bilevel.Result) -> None:
    mixed = np.empty(2, object)
    mixed[:] = [DATA[0], DATA[1][:7]]
    assert [x.shape for x in result.apply(list(mixed))] == [(12, 10), (7, 10)]
    assert bilevel.Run(mixed, mixed)._about["examples"] == "2 pictures of different sizes"
    assert [x.shape for x in bilevel.add_noise(mixed, 0.1)] == [(12, 10), (7, 10)]
    numbers = DATA.astype(object)
    for attempt in (
        lambda: bilevel.learn(numbers, DATA),
        lambda: bilevel.learn(list(numbers), DATA),
        lambda: bilevel.denoise_tv(numbers[0], **VALUES),
        lambda: result.apply(numbers),
        lambda: result.apply(numbers[0]),
        lambda: bilevel.psnr(numbers[0], TRUTH[0]),
        lambda: bilevel.add_noise(numbers, 0.1),
    ):
        with pytest.raises(TypeError, match=r"holds Python objects: convert it with .astype"):
            attempt()


def test_tables_are_pictures_but_not_lists_of_signals(
    result: bilevel.Result, of_signals: bilevel.Result
) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(DATA[0])
    assert result.apply(table).tobytes() == result.apply(DATA[0]).tobytes()
    assert bilevel.denoise_tv(table, **VALUES).x.shape == (12, 10)
    assert bilevel.psnr(table, TRUTH[0]) == bilevel.psnr(DATA[0], TRUTH[0])
    assert bilevel.Run([table], [table])._about["examples"] == "1 picture of 12 × 10"
    for attempt in (
        lambda: bilevel.learn(table, table),
        lambda: of_signals.apply(table),
    ):
        with pytest.raises(TypeError, match=r"to_numpy\(\) for rows or \w+.to_numpy\(\).T for col"):
            attempt()
    column = table[0]
    assert of_signals.apply(column).shape == (12,)
    assert bilevel.add_noise(column, 0.1).shape == (12,)
    assert bilevel.add_noise(table, 0.1).tobytes() == bilevel.add_noise(DATA[0], 0.1).tobytes()


def test_complex_numbers_where_real_ones_are_needed(result: bilevel.Result) -> None:
    y = DATA[0].astype(complex)
    for attempt in (
        lambda: bilevel.denoise_tv(y, **VALUES),
        lambda: bilevel.learn([y], [y]),
        lambda: result.apply(y),
        lambda: result.apply([y]),
        lambda: bilevel.psnr(y, y),
        lambda: bilevel.ssim(y, y),
    ):
        with pytest.raises(ValueError, match="is complex, but real .* real part or the absolute"):
            attempt()


def test_noise_is_added_to_every_entry_of_any_array() -> None:
    for shape in ((9, 8, 3), (9, 9, 5), (2, 1, 9, 8), (2, 3, 9, 8)):
        noisy = bilevel.add_noise(np.zeros(shape), 0.1, seed=2)
        assert noisy.shape == shape and len(np.unique(noisy)) == noisy.size
        assert 0.05 < noisy.std() < 0.15


def test_a_list_of_lists_is_one_picture(result: bilevel.Result) -> None:
    assert result.apply(DATA[0].tolist()).tobytes() == result.apply(DATA[0]).tobytes()
    assert np.array_equal(result.apply(DATA.tolist()), result.apply(DATA))


def test_the_peak_of_eight_bit_pictures() -> None:
    clean = bilevel.phantoms.dead_leaves(1, (16, 16))[0]
    pictures = (bilevel.add_noise(clean, 0.1), clean)
    x, truth = ((255 * picture).clip(0, 255).astype(np.uint8) for picture in pictures)
    for score in (bilevel.psnr, bilevel.ssim):
        with pytest.warns(UserWarning, match="pass peak=255"):
            score(x, truth)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert score(x, truth, peak=255) == pytest.approx(score(x / 255, truth / 255))
