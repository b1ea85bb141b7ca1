"""Cameras that count photons."""

from __future__ import annotations

import pathlib
from typing import Any

import bilevel
import numpy as np
import pytest

CAMERA = bilevel.Poisson(0.05, 0.02)
TRUTH = bilevel.phantoms.dead_leaves(3, (48, 48))
DATA = bilevel.add_noise(TRUTH, CAMERA)
ALPHA: dict[str, Any] = {"learn": ("alpha",), "fixed": {"nu": 0.01, "xi": 1e-3}, "max_points": 12}


def test_noise_has_the_variance_of_photons_and_read_noise() -> None:
    noisy = bilevel.add_noise(np.full((200, 200), 0.4), CAMERA)
    assert abs(noisy.mean() - 0.4) < 0.005
    assert abs(noisy.var() / (0.05 * 0.4 + 0.02**2) - 1) < 0.05
    z = CAMERA.transform(noisy)
    assert abs(z.std() / CAMERA.sigma - 1) < 0.05
    assert abs(float(CAMERA.inverse([z.mean()])[0]) - 0.4) < 0.005


def test_frames_give_gain_and_read_noise() -> None:
    frames = bilevel.add_noise([TRUTH[0]] * 6, CAMERA)
    found = bilevel.Poisson.estimate(frames)
    assert abs(found.gain / 0.05 - 1) < 0.1
    shifted = bilevel.Poisson.estimate([frame + 0.5 for frame in frames], black=0.5)
    assert shifted.black == 0.5
    assert abs(shifted.gain - found.gain) < 1e-9
    with pytest.raises(ValueError, match="two or more frames"):
        bilevel.Poisson.estimate(frames[:1])
    with pytest.raises(ValueError, match="differ in shape"):
        bilevel.Poisson.estimate([frames[0], frames[0][1:]])
    with pytest.raises(ValueError, match="does not grow"):
        bilevel.Poisson.estimate([frames[0], frames[0]])


def test_denoise_transforms_and_transforms_back() -> None:
    made = bilevel.denoise(DATA[0], CAMERA)
    inner = bilevel.denoise(CAMERA.transform(DATA[0]), CAMERA.sigma, data_range=1.0)
    assert np.array_equal(made.image, CAMERA.inverse(inner.image))
    assert made.camera == CAMERA
    assert (made.noise, made.error_bound) == (inner.noise, inner.error_bound)
    gaussian = bilevel.denoise(DATA[0], float(np.sqrt(0.05 * TRUTH[0].mean() + 0.02**2)))
    assert bilevel.psnr(made, TRUTH[0]) > bilevel.psnr(gaussian, TRUTH[0])
    # counts with a black level, in single precision
    counts = (100 + 1000 * DATA[0]).astype(np.float32)
    of_counts = bilevel.denoise(counts, CAMERA, data_range=(100, 1100)).image
    assert of_counts.dtype == np.float32
    assert np.allclose(of_counts, 100 + 1000 * made.image, atol=0.01)
    black = bilevel.Poisson(0.05, 0.02, black=0.1)
    assert np.allclose(bilevel.denoise(DATA[0] + 0.1, black).image, made.image + 0.1, atol=1e-9)


@pytest.mark.parametrize("truth", [TRUTH, None], ids=["truth", "no truth"])
def test_results_transform_and_score_pictures(truth: Any, tmp_path: pathlib.Path) -> None:
    result = bilevel.learn(truth, DATA, noise=CAMERA, **ALPHA)
    made = result(DATA)
    gain = [
        bilevel.psnr(x, t) - bilevel.psnr(y, t) for x, y, t in zip(made, DATA, TRUTH, strict=True)
    ]
    assert min(gain) > 4
    inner = bilevel.learn(
        None if truth is None else CAMERA.expected(truth),
        CAMERA.transform(DATA),
        noise=CAMERA.sigma if truth is None else None,
        **ALPHA,
    )
    assert inner.params == result.params
    assert np.array_equal(CAMERA.inverse(inner(CAMERA.transform(DATA[0]))), made[0])
    if truth is not None:
        scores = result.scores
        assert abs(scores.psnr_before[0] - bilevel.psnr(DATA[0], TRUTH[0])) < 0.05
        assert abs(scores.psnr_after[0] - bilevel.psnr(made[0], TRUTH[0])) < 0.05
    result.save(tmp_path / "result.json")
    assert np.array_equal(bilevel.load(tmp_path / "result.json")(DATA[0]), made[0])


def test_runs_of_the_program(tmp_path: pathlib.Path) -> None:
    from bilevel import _bilevel

    np.save(tmp_path / "frames.npy", np.stack(bilevel.add_noise([TRUTH[0]] * 3, CAMERA)))
    out = tmp_path / "run"
    args = ["learn", "denoise", "--truth", "none", "--noisy", str(tmp_path / "frames.npy")]
    args += ["--noise", "poisson", "--learn", "alpha", "--max-points", "5", "--quiet"]
    assert _bilevel.main(["bilevel", *args, "--out", str(out)]) == 0
    result = bilevel.load(out)
    x = result(DATA[0])
    assert bilevel.psnr(x, TRUTH[0]) > bilevel.psnr(DATA[0], TRUTH[0]) + 3
    assert bilevel.resume(out, max_points=6).num_points >= 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bilevel.Poisson(0.0), "gain is 0.0, but must be positive"),
        (lambda: bilevel.Poisson(0.1, -1.0), "read is -1.0, but must be zero or positive"),
        (lambda: bilevel.Poisson(0.1, 0.0, float("nan")), "black is nan, but must be finite"),
        (lambda: CAMERA.transform([1j]), "real numbers"),
        (
            lambda: bilevel.learn(TRUTH, DATA, "inpaint", mask=TRUTH[0] >= 0, noise=CAMERA),
            "is for model='tv' and model='filters'",
        ),
        (lambda: bilevel.learn(TRUTH, DATA, noise=CAMERA, out="run"), "out cannot be used"),
        (
            lambda: bilevel.learn(TRUTH, DATA, noise=CAMERA, image_range=(0, 1)),
            "image_range cannot be used",
        ),
        (lambda: bilevel.learn(TRUTH, DATA, noise=0.1), "noise is for criterion='sure'"),
        (lambda: bilevel.add_noise(np.ones(4) * 1j, CAMERA), "a camera measures real numbers"),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(")", r"\)")):
        call()


def test_one_picture_is_not_a_list_of_frames() -> None:
    with pytest.raises(ValueError, match=r"frames has shape \(8, 8\), but frames are pictures"):
        bilevel.Poisson.estimate(np.ones((8, 8)))
