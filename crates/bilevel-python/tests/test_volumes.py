"""Volumes: stacks of slices that are denoised as a whole."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import bilevel
import numpy as np
import pytest
from numpy.typing import NDArray

# The slices of a volume are the same picture, each with noise of its own.
PICTURES = bilevel.phantoms.dead_leaves(2, (14, 12), seed=1)
TRUTH: NDArray[Any] = np.ascontiguousarray(np.repeat(PICTURES[:, None], 6, axis=1))
DATA = bilevel.add_noise(TRUTH, 0.1)
ALPHA: dict[str, Any] = {"learn": ("alpha",), "fixed": {"nu": 0.01, "xi": 1e-3}, "max_points": 10}
VOLUME: dict[str, Any] = {**ALPHA, "slices": "volume"}


def psnr(x: NDArray[Any]) -> float:
    return bilevel.psnr(x, TRUTH[0], slices="volume")


@pytest.fixture(scope="module")
def result() -> bilevel.Result:
    return bilevel.learn(TRUTH, DATA, **VOLUME)


def test_volumes_are_one_unknown(result: bilevel.Result) -> None:
    assert "learned from 2 volumes of 6 × 14 × 12" in repr(result)
    made = result(DATA[0])
    assert made.shape == DATA[0].shape
    ssim = [bilevel.ssim(x, y) for x, y in zip(made, TRUTH[0], strict=True)]
    assert bilevel.ssim(made, TRUTH[0], slices="volume") == pytest.approx(np.mean(ssim))
    slices = bilevel.learn(TRUTH.reshape(-1, 14, 12), DATA.reshape(-1, 14, 12), **ALPHA)
    assert psnr(made) > psnr(slices(DATA[0])) + 1
    assert np.array_equal(result(DATA)[0], made)
    assert np.array_equal(result([DATA[0], DATA[1, :5]])[0], made)
    values = {**result.params, **result.fixed}
    direct = bilevel.denoise_tv(DATA[0], **values, accuracy=1e-6, slices="volume")
    assert np.sqrt(np.mean((direct.x - made) ** 2)) <= 1.1e-3
    warm = bilevel.denoise_tv(DATA[0], **values, accuracy=1e-6, slices="volume", start=direct)
    assert warm.iterations < direct.iterations
    # flat slices one above the other have no differences between slices
    equal = np.repeat(DATA[0, :1], 3, axis=0)
    whole = bilevel.denoise_tv(equal, **values, accuracy=1e-7, slices="volume").x
    flat = bilevel.denoise_tv(equal[0], **values, accuracy=1e-7).x
    assert np.abs(whole - flat).max() < 1e-4


def test_missing_voxels_cameras_and_no_truth(result: bilevel.Result) -> None:
    holed = np.where(np.random.default_rng(0).random(DATA.shape) < 0.2, np.nan, DATA)
    made = result(holed[0])
    assert np.isfinite(made).all()
    assert psnr(made) > psnr(np.nan_to_num(holed[0])) + 5
    learned = bilevel.learn(TRUTH, holed, **VOLUME)
    assert 0.4 < learned.params["alpha"] / result.params["alpha"] < 2.5
    for noise in (None, 0.1):
        blind = bilevel.learn(None, DATA, noise=noise, **VOLUME)
        assert 0.4 < blind.params["alpha"] / result.params["alpha"] < 2.5
    counted = bilevel.learn(TRUTH, DATA, noise=bilevel.Poisson(0.02, 0.05), **VOLUME)
    assert np.isfinite(counted(DATA[0])).all()
    each = bilevel.learn(TRUTH, DATA, per_picture=True, **VOLUME)
    assert [one(DATA[0]).shape for one in each] == [DATA[0].shape] * 2


def test_the_program_reads_volumes(result: bilevel.Result, tmp_path: Path) -> None:
    run = tmp_path / "run"
    made = bilevel.learn(TRUTH, DATA, out=run, **VOLUME)
    assert made.params == result.params
    assert bilevel.resume(run).params == made.params
    loaded = bilevel.load(run)
    assert np.array_equal(loaded(DATA[0]), made(DATA[0]))
    made.save(tmp_path / "result.json")
    assert np.array_equal(bilevel.load(tmp_path / "result.json")(DATA[0]), made(DATA[0]))
    program = os.environ.get("BILEVEL_PROGRAM")
    if program is None:
        pytest.skip("the variable BILEVEL_PROGRAM names the program")
    np.save(tmp_path / "data.npy", DATA[0])
    apply = [program, "apply", run, tmp_path / "data.npy", tmp_path / "x.npy", "--quiet"]
    subprocess.run(apply, check=True)
    assert np.abs(np.load(tmp_path / "x.npy") - made(DATA[0])).max() < 1e-12
    # and a run of the program is read here
    for name, stack in (("truth", TRUTH), ("noisy", DATA)):
        (tmp_path / name).mkdir()
        for index, volume in enumerate(stack):
            np.save(tmp_path / name / f"{index}.npy", volume)
    text = "learn denoise --slices volume --learn alpha --fix nu=0.01,xi=0.001 --max-points 10"
    folders = ["--images", tmp_path / "truth", "--noisy", tmp_path / "noisy"]
    other = tmp_path / "other"
    subprocess.run([program, *text.split(), *folders, "--out", other, "--quiet"], check=True)
    assert bilevel.load(other).params == made.params
    assert np.array_equal(bilevel.load(other)(DATA[0]), made(DATA[0]))


def test_refused_volumes(result: bilevel.Result) -> None:
    for data, message in (
        (DATA[0], r"put one volume into a list, \[data\]"),
        ([DATA[0], DATA[0, 0]], "a volume has three axes"),
        (np.full(DATA.shape, np.nan), "NaN everywhere"),
    ):
        with pytest.raises(ValueError, match=message):
            bilevel.learn(TRUTH, data, **VOLUME)
    for change, message in (
        ({"slices": "cube"}, "'pictures', 'volume'"),
        ({"model": "filters", "learn": None, "fixed": None}, "volumes have model='tv' only"),
        ({"model": "deblur", "kernel": "gaussian:1"}, "volumes have model='tv' only"),
        ({"patches": 2}, "not for volumes"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            bilevel.learn(TRUTH, DATA, **{**VOLUME, **change})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="channel_axis cannot be used for volumes"):
        result(DATA[0], channel_axis=-1)
    with pytest.raises(ValueError, match="three axes"):
        result(DATA[0, 0])
    with pytest.raises(ValueError, match="slices='volume'"):
        bilevel.learn(TRUTH, DATA, **ALPHA)
