"""Deblurring: filter banks, dead pixels, learned widths, colours, and runs in directories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import bilevel
import numpy as np
import pytest
from numpy.typing import NDArray

RADIUS = 3
FIXED: dict[str, Any] = {"learn": ("alpha",), "fixed": {"nu": 0.01, "xi": 1e-3}, "max_points": 8}


def blurred(scene: NDArray[Any], width: float) -> NDArray[Any]:
    """Blur rows and columns of pictures with a Gaussian, and keep what depends on nothing else."""
    places = np.arange(-RADIUS, RADIUS + 1)
    weights = np.exp(-0.5 * (places / width) ** 2)
    weights /= weights.sum()
    for axis in (1, 2):
        length = scene.shape[axis] - 2 * RADIUS
        parts = [np.take(scene, range(j, j + length), axis) for j in range(2 * RADIUS + 1)]
        scene = sum(weight * part for weight, part in zip(weights, parts, strict=True))
    return scene


SCENE = bilevel.phantoms.dead_leaves(3, (34, 34), seed=2)
TRUTH = np.ascontiguousarray(SCENE[:, RADIUS:-RADIUS, RADIUS:-RADIUS])
DATA = bilevel.add_noise(blurred(SCENE, 1.0), 0.01)
DEAD = np.random.default_rng(4).random(TRUTH[0].shape) < 0.03


@pytest.fixture(scope="module")
def result() -> bilevel.Result:
    return bilevel.learn(TRUTH[:2], DATA[:2], "deblur", kernel="gaussian:1", max_points=6)


def psnr(x: NDArray[Any]) -> float:
    return bilevel.psnr(x, TRUTH[2])


def test_filter_banks(result: bilevel.Result, tmp_path: Path) -> None:
    banks = bilevel.learn(
        TRUTH[:2], DATA[:2], "deblur", kernel="gaussian:1", filters="dct3", max_points=8
    )
    assert banks.model == "filters"
    assert banks.params["alpha"].shape == (8,)
    assert psnr(banks(DATA[2])) > psnr(DATA[2]) + 1
    assert psnr(result(DATA[2])) > psnr(DATA[2]) + 1
    banks.save(tmp_path / "banks.json")
    loaded = bilevel.load(tmp_path / "banks.json")
    assert np.array_equal(loaded(DATA[2]), banks(DATA[2]))
    # a kernel makes the filter bank one for deblurring; the patches are whole pictures here
    same = bilevel.learn(
        TRUTH[:2], DATA[:2], "filters", kernel="gaussian:1", filters="dct3", max_points=8
    )
    assert np.array_equal(same.theta, banks.theta)
    settings: list[tuple[dict[str, Any], str]] = [
        ({"learn": ("alpha",)}, "learn cannot be used with filters"),
        ({"fixed": {"xi": 1e-3}}, "fixed cannot be used with filters"),
        ({"solver": "derivative-free"}, "too many parameters"),
        ({"boundary": "open"}, "'unknown', 'periodic'"),
    ]
    for change, message in settings:
        with pytest.raises(ValueError, match=message):
            bilevel.learn(TRUTH, DATA, "filters", kernel="gaussian:1", **change)


def test_dead_pixels(result: bilevel.Result) -> None:
    dead = np.where(DEAD, 1.0, DATA)
    holed = np.where(DEAD, np.nan, DATA)
    assert np.isfinite(result(holed[2])).all()
    assert np.array_equal(result(np.ma.masked_array(dead[2], DEAD)), result(holed[2]))
    assert psnr(result(holed[2])) > psnr(result(dead[2])) + 2
    assert abs(psnr(result(holed[2])) - psnr(result(DATA[2]))) < 0.5
    masked = bilevel.learn(
        TRUTH[:2], dead[:2], "deblur", kernel="gaussian:1", mask=~DEAD, max_points=6
    )
    nans = bilevel.learn(TRUTH[:2], holed[:2], "deblur", kernel="gaussian:1", max_points=6)
    assert masked.params == nans.params
    # the mask is that of the result, too
    assert np.array_equal(masked(dead[2]), nans(holed[2]))
    with pytest.raises(ValueError, match="NaN wherever the mask is True"):
        masked(np.where(DEAD, 1.0, np.nan))
    with pytest.raises(ValueError, match="but the mask has shape"):
        bilevel.learn(TRUTH, DATA, "deblur", kernel="gaussian:1", mask=~DEAD[:9])


def test_the_width_of_a_kernel_is_learned(tmp_path: Path) -> None:
    out = tmp_path / "run"
    made = bilevel.learn(
        TRUTH[:2],
        DATA[:2],
        "deblur",
        learn=("alpha", "width"),
        fixed={"nu": 0.01, "xi": 1e-3},
        kernel="gaussian:1.4",
        max_points=15,
        out=out,
    )
    assert 0.9 < made.params["width"] < 1.1
    x = made(DATA[2])
    made.save(tmp_path / "width.json")
    for path in (tmp_path / "width.json", out):
        loaded = bilevel.load(path)
        assert loaded.params == made.params
        assert np.array_equal(loaded(DATA[2]), x)
    assert bilevel.resume(out).params == made.params
    for kernel in (np.ones((3, 3)) / 9, "motion:3@0"):
        with pytest.raises(ValueError, match="width"):
            bilevel.learn(TRUTH, DATA, "deblur", learn=("alpha", "width"), kernel=kernel)
    with pytest.raises(ValueError, match=r"fixed\['width'\] is not a parameter"):
        bilevel.learn(TRUTH, DATA, "deblur", fixed={"width": 1.0}, kernel="gaussian:1")


def test_pictures_in_colour() -> None:
    scene = bilevel.phantoms.dead_leaves(2, (22, 22), seed=5, colour=True)
    truth = np.ascontiguousarray(scene[:, RADIUS:-RADIUS, RADIUS:-RADIUS])
    data = bilevel.add_noise(blurred(scene, 1.0), 0.02)
    made = bilevel.learn(truth, data, "deblur", kernel="gaussian:1", channel_axis=-1, max_points=5)
    assert list(made.params) == ["alpha_luminance", "alpha_chroma", "nu"]
    apart = bilevel.learn(
        truth, data, "deblur", kernel="gaussian:1", colour="channels", max_points=5
    )
    scores = [
        bilevel.psnr(each(data[0], channel_axis=-1), truth[0], channel_axis=-1)
        for each in (made, apart)
    ]
    assert scores[0] > scores[1] > bilevel.psnr(data[0], truth[0], channel_axis=-1)
    with pytest.warns(UserWarning, match="periodic"):
        bilevel.learn(
            truth,
            data,
            "deblur",
            kernel="gaussian:1",
            boundary="periodic",
            channel_axis=-1,
            max_points=2,
        )


def test_the_program_reads_runs(tmp_path: Path) -> None:
    program = os.environ.get("BILEVEL_PROGRAM")
    if program is None:
        pytest.skip("the variable BILEVEL_PROGRAM names the program")
    np.save(tmp_path / "data.npy", np.where(DEAD, 1.0, DATA[2]))
    settings: list[dict[str, Any]] = [
        {"kernel": "gaussian:1", "mask": ~DEAD, **FIXED},
        {"kernel": np.ones((3, 3)) / 9, "boundary": "periodic", **FIXED},
        {"kernel": "gaussian:1", "filters": "dct3", "max_points": 4},
    ]
    for index, chosen in enumerate(settings):
        run, output = tmp_path / str(index), tmp_path / f"{index}.npy"
        made = bilevel.learn(TRUTH[:2], DATA[:2], "deblur", out=run, **chosen)
        described = bilevel.load(run)
        assert described.params.keys() == made.params.keys()
        subprocess.run(
            [program, "apply", run, tmp_path / "data.npy", output, "--quiet"], check=True
        )
        own = described(np.load(tmp_path / "data.npy"))
        assert np.abs(np.load(output) - own).max() < 1e-12
        subprocess.run([program, "report", run], check=True, stdout=subprocess.DEVNULL)
