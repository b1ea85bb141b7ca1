"""Denoising without learning, and the estimate of the noise."""

from __future__ import annotations

import _thread
import re
import threading
import time
import warnings
from typing import Any

import bilevel
import numpy as np
import pytest
from numpy.typing import NDArray

TRUTH = bilevel.phantoms.dead_leaves(3, (24, 20), seed=3)
NOISY = bilevel.add_noise(TRUTH, 0.1, seed=3)
COLOUR = np.ascontiguousarray(np.moveaxis(NOISY, 0, -1))


def rms(difference: NDArray[Any]) -> float:
    return float(np.sqrt(np.mean(difference**2)))


def levels(image: NDArray[Any], dtype: str, white: float) -> NDArray[Any]:
    return np.clip(np.rint(image * white), 0, white).astype(dtype)


def test_the_noise_goes_away() -> None:
    truth = bilevel.phantoms.dead_leaves(1, (64, 64), seed=1)[0]
    noisy = bilevel.add_noise(truth, 0.1, seed=1)
    for made in (bilevel.denoise(noisy), bilevel.denoise(noisy, 0.1)):
        assert bilevel.psnr(made.image, truth) > bilevel.psnr(noisy, truth) + 2
        assert made.iterations > 0
        assert 0.0 < made.error_bound <= 0.1001 * made.noise
    assert bilevel.denoise(noisy).noise == bilevel.estimate_noise(noisy)
    assert bilevel.denoise(noisy, noise=0.1).noise == 0.1


def test_results_are_arrays() -> None:
    made = bilevel.denoise(NOISY[0], 0.1)
    assert isinstance(made, bilevel.DenoisedImage)
    assert np.asarray(made) is made.image
    assert np.asarray(made, dtype=np.float32).dtype == np.float32
    assert np.array(made) is not made.image
    assert bilevel.psnr(made, TRUTH[0]) == bilevel.psnr(made.image, TRUTH[0])
    assert repr(made).startswith("DenoisedImage(noise=0.1, error_bound=")
    with pytest.raises(AttributeError):
        made.noise = 0.2  # type: ignore[misc]


@pytest.mark.parametrize("accuracy", [1e-2, 1e-5])
@pytest.mark.parametrize("image", [NOISY[0], COLOUR], ids=["grey", "colour"])
def test_the_bound_holds(image: NDArray[Any], accuracy: float) -> None:
    axis = -1 if image.ndim == 3 else None
    exact = bilevel.denoise(image, 0.1, accuracy=1e-9, channel_axis=axis)
    made = bilevel.denoise(image, 0.1, accuracy=accuracy, channel_axis=axis)
    assert rms(made.image - exact.image) <= made.error_bound + exact.error_bound
    # as a Euclidean norm, the same number would be much smaller
    assert accuracy / np.sqrt(image.size) < made.error_bound <= accuracy


@pytest.mark.parametrize("image", [NOISY[0], COLOUR], ids=["grey", "colour"])
def test_large_pictures_are_denoised_by_tiles(
    image: NDArray[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    axis = -1 if image.ndim == 3 else None
    exact = bilevel.denoise(image, 0.1, accuracy=1e-9, channel_axis=axis)
    # so that tiles take less memory than the whole of a small picture
    monkeypatch.setattr("bilevel._denoise.REGION", 0)
    made = bilevel.denoise(image, 0.1, accuracy=1e-3, channel_axis=axis, memory=32 * image.size)
    assert np.array_equal(made.image, made.image.astype(np.float32))
    assert rms(made.image - exact.image) <= made.error_bound + exact.error_bound
    assert made.error_bound <= 1.01e-3


def test_too_little_memory_is_refused() -> None:
    needed = re.escape("takes about 9.6e-05 GB of memory, but 1e-08 GB are allowed")
    with pytest.raises(ValueError, match=needed + ": allow more, such as memory=(.*)") as caught:
        bilevel.denoise(NOISY[0], 0.1, memory=10)
    enough = float(str(caught.value).rpartition("=")[2])
    assert bilevel.denoise(NOISY[0], 0.1, memory=enough).iterations > 0


@pytest.mark.parametrize(("dtype", "white"), [("u1", 255.0), ("u2", 65535.0), (">u2", 65535.0)])
@pytest.mark.parametrize("image", [NOISY[0], COLOUR], ids=["grey", "colour"])
def test_integers_keep_their_type(image: NDArray[Any], dtype: str, white: float) -> None:
    y = levels(image, dtype, white)
    before = y.copy()
    made = bilevel.denoise(y, 0.1)
    assert made.image.dtype == np.dtype(dtype).newbyteorder("=") and made.image.shape == y.shape
    axis = -1 if image.ndim == 3 else None
    exact = bilevel.denoise(y / white, 0.1, channel_axis=axis).image
    assert (made.image == levels(exact, made.image.dtype.str, white)).all()
    assert (y == before).all()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f8", ">f4"])
def test_floats_keep_their_type(dtype: str) -> None:
    y = NOISY[0].astype(dtype)
    made = bilevel.denoise(y, 0.1)
    assert made.image.dtype == np.dtype(dtype).newbyteorder("=")
    exact = bilevel.denoise(y.astype("f8"), 0.1)
    assert made.error_bound == exact.error_bound
    assert (made.image == exact.image.astype(made.image.dtype)).all()


def test_memory_does_not_matter() -> None:
    y = NOISY[0]
    expected = bilevel.denoise(y, 0.1).image.tobytes()
    frozen = y.copy()
    frozen.flags.writeable = False
    for form in (np.asfortranarray(y), np.repeat(y, 2, axis=1)[:, ::2], frozen, y.tolist()):
        assert bilevel.denoise(form, 0.1).image.tobytes() == expected


def test_colours_may_be_on_any_axis() -> None:
    last = bilevel.denoise(COLOUR, 0.1, channel_axis=-1)
    first = bilevel.denoise(NOISY, 0.1, channel_axis=0)
    assert (np.moveaxis(first.image, 0, -1) == last.image).all()
    assert last.image.shape == COLOUR.shape and last.image.flags.c_contiguous
    # all colours together are better than each on its own
    alone = np.stack([bilevel.denoise(plane, 0.1).image for plane in NOISY], axis=-1)
    assert not np.array_equal(alone, last.image)


def test_other_ranges() -> None:
    counts = 100.0 + 4000.0 * NOISY[0]
    with pytest.raises(ValueError, match=r"values between .* data_range=\("):
        bilevel.denoise(counts)
    with pytest.raises(ValueError, match=r"data_range=\("):
        bilevel.estimate_noise(counts)
    made = bilevel.denoise(counts, 0.1, data_range=(100, 4100))
    exact = bilevel.denoise(NOISY[0], 0.1)
    assert np.allclose(made.image, 100.0 + 4000.0 * exact.image, atol=1e-3)
    assert bilevel.estimate_noise(counts, data_range=(100, 4100)) == pytest.approx(
        bilevel.estimate_noise(NOISY[0]), rel=1e-9
    )
    whole = np.rint(4095 * NOISY[0].clip(0, 1)).astype("i4")
    with pytest.raises(ValueError, match="integers of type int32.*data_range=4095"):
        bilevel.denoise(whole, 0.1)
    made = bilevel.denoise(whole, 0.1, data_range=4095)
    assert made.image.dtype == np.float64 and 1000 < made.image.max() < 5000
    # noise may exceed the range
    assert bilevel.denoise(NOISY[0] - 0.3, 0.1).image.min() < 0
    with pytest.raises(ValueError, match="data_range"):
        bilevel.denoise(NOISY[0] - 0.3, 0.01)


@pytest.mark.parametrize("shape", [(1, 1), (4, 9), (9, 4), (1, 7)])
def test_small_pictures_need_their_noise(shape: tuple[int, int]) -> None:
    y = np.full(shape, 0.5)
    with pytest.raises(ValueError, match=r"five rows and columns: pass the noise"):
        bilevel.denoise(y)
    assert np.allclose(bilevel.denoise(y, 0.1).image, 0.5, atol=0.05)
    rgb = np.full((*shape, 3), 0.5)
    assert bilevel.denoise(rgb, 0.1, channel_axis=-1).image.shape == (*shape, 3)


def test_pictures_without_noise() -> None:
    with pytest.raises(ValueError, match="clipped everywhere: pass the noise"):
        bilevel.denoise(np.zeros((9, 9)))
    ramp = np.repeat(np.linspace(0, 1, 64)[:, None], 64, axis=1)
    with pytest.raises(ValueError, match="seems to have no noise"):
        bilevel.denoise(ramp)
    little = bilevel.add_noise(ramp, 0.004)
    with pytest.warns(UserWarning, match="below 0.01 cannot be trusted") as caught:
        bilevel.denoise(little)
    assert {warning.filename for warning in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bilevel.denoise(little, noise=0.004)


@pytest.mark.parametrize(
    ("image", "options", "kind", "message"),
    [
        (np.zeros(9), {}, ValueError, r"shape \(9,\).*denoise_tv"),
        (np.zeros((9, 9, 3)), {}, ValueError, "colour picture: pass channel_axis=-1"),
        (np.zeros((2, 9, 3), "u1"), {}, ValueError, "colour picture: pass channel_axis=-1"),
        (np.zeros((9, 9, 4)), {"channel_axis": -1}, ValueError, r"pass image\[..., :3\]"),
        (np.zeros((9, 9, 4), "u1"), {}, ValueError, r"pass image\[..., :3\].* and channel_axis=-1"),
        (np.zeros((5, 9, 9)), {}, ValueError, r"one picture at a time, such as image\[0\]"),
        (np.zeros((5, 9, 9)), {"channel_axis": 0}, ValueError, "channels one at a time"),
        (np.zeros((9, 9)), {"channel_axis": -1}, ValueError, "must have three axes"),
        (np.zeros((9, 9, 3)), {"channel_axis": 3}, ValueError, "must have three axes"),
        (np.zeros((9, 9, 3)), {"channel_axis": "c"}, TypeError, "channel_axis must be"),
        (np.zeros((0, 9)), {}, ValueError, "empty"),
        (np.full((9, 9), np.nan), {}, ValueError, r"NaN.*denoise_tv\(image, .*learn"),
        (np.full((9, 9), np.inf), {}, ValueError, r"image is inf at \(0, 0\)"),
        (np.zeros((9, 9)), {"memory": 0}, ValueError, "memory"),
        (np.zeros((9, 9), complex), {}, ValueError, "image is complex"),
        ([["a"]], {}, TypeError, "image must hold numbers"),
        ([[1.0], [1.0, 2.0]], {}, ValueError, "image is not an array"),
        (np.ma.masked_array(np.zeros((9, 9)), np.eye(9)), {}, ValueError, "masked"),
        (np.zeros((9, 9)), {"noise": 0.0}, ValueError, "noise is 0.0"),
        (np.zeros((9, 9)), {"noise": -0.1}, ValueError, "noise is -0.1"),
        (np.zeros((9, 9)), {"noise": np.nan}, ValueError, "noise is nan"),
        (np.zeros((9, 9)), {"noise": "much"}, TypeError, "noise must be a number"),
        (np.zeros((9, 9)), {"noise": 0.1, "accuracy": 0.0}, ValueError, "accuracy is 0.0"),
        (np.zeros((9, 9)), {"noise": 0.1, "data_range": 0}, ValueError, "data_range is 0"),
        (np.zeros((9, 9)), {"noise": 0.1, "data_range": (2, 1)}, ValueError, "data_range"),
        (np.zeros((9, 9)), {"noise": 0.1, "data_range": (1, 1)}, ValueError, "black below white"),
        (np.zeros((9, 9)), {"noise": 0.1, "data_range": (1, 2, 3)}, TypeError, "data_range"),
    ],
)
def test_bad_arguments_are_named(
    image: Any, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        bilevel.denoise(image, **options)


def test_noise_in_another_unit_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="noise is 25, but black is 0 and white is 1"):
        bilevel.denoise(NOISY[0], 25)


def test_what_cannot_be_reached_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="the accuracy cannot be reached.*accuracy=1e-6"):
        bilevel.denoise(NOISY[0], 0.1, accuracy=1e-300)


def test_calls_of_the_earlier_function_are_explained() -> None:
    with pytest.raises(TypeError, match=r"no argument 'alpha'.*bilevel\.denoise_tv"):
        bilevel.denoise(NOISY[0], alpha=0.1, nu=1e-2, xi=1e-3, accuracy=1e-3)
    with pytest.raises(TypeError, match="denoise"):
        bilevel.denoise(NOISY[0], 0.1, 1e-2, 1e-3, 1e-3)  # type: ignore[misc]


@pytest.mark.usefixtures("ctrl_c")
def test_it_can_be_interrupted() -> None:
    y = np.random.default_rng(1).random((600, 600))
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(100):
            bilevel.denoise(y, 0.1, accuracy=1e-3)
    timer.join()
    assert time.monotonic() - begun < 30.0
