"""Learning: formulas, families, arguments, and the same bits as the program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import bilevel
import numpy as np
import pytest

PROGRAM = os.environ.get("BILEVEL_PROGRAM", "")


def leaves(n: int = 3, shape: tuple[int, int] = (16, 12)) -> tuple[Any, Any]:
    truth = bilevel.phantoms.dead_leaves(n, shape, seed=1)
    return truth, bilevel.add_noise(truth, 0.1, seed=1)


@pytest.mark.parametrize("objective", ["mean", "sum"])
@pytest.mark.parametrize("residuals", ["image", "pixel"])
@pytest.mark.parametrize("penalty", [None, {"condition": 1e-6}])
def test_the_objective_is_the_formula(
    objective: str, residuals: str, penalty: dict[str, float] | None
) -> None:
    truth, data = leaves()
    result = bilevel.learn(
        truth, data, objective=objective, residuals=residuals, penalty=penalty, max_points=30
    )
    alpha, nu, xi = result.params.values()
    f = sum(
        float(((bilevel.denoise_tv(y, alpha, nu, xi, 1e-7).x - x) ** 2).sum())
        for x, y in zip(truth, data)
    )
    f = f / len(truth) if objective == "mean" else f
    if penalty is not None:
        f += penalty["condition"] * ((1 + 8 * alpha / nu + xi) / (1 + xi)) ** 2
    assert abs(f - result.f) <= result.f_error + 1e-5
    assert result.interval[0] - 1e-5 <= f <= result.interval[1] + 1e-5
    assert result.f_error < 0.02 * result.f
    noisy = ((data - truth) ** 2).sum() / (len(truth) if objective == "mean" else 1)
    assert result.f < 0.8 * noisy


def test_arrays_lists_and_mixed_sizes() -> None:
    truth, data = leaves()
    stacked = bilevel.learn(truth, data, max_points=12)
    listed = bilevel.learn(
        list(truth), [y.astype(np.float64, order="F") for y in data], max_points=12
    )
    assert stacked.theta.tobytes() == listed.theta.tobytes() and stacked.f == listed.f
    mixed = [truth[0], truth[1][:7], truth[2][:, :5]]
    noisy = [data[0], data[1][:7], data[2][:, :5]]
    result = bilevel.learn(mixed, noisy, learn=("alpha", "xi"), fixed={"nu": 0.01})
    assert list(result.params) == ["alpha", "xi"] and result.fixed == {"nu": 0.01}
    made = result.apply(noisy)
    assert [x.shape for x in made] == [x.shape for x in mixed]
    f = sum(((x - t) ** 2).sum() for x, t in zip(result.apply(noisy, accuracy=1e-7), mixed)) / 3
    assert abs(f - result.f) <= result.f_error + 1e-5


def test_start_bounds_and_names() -> None:
    truth, data = leaves(2)
    bounds = {"alpha": (0.5, 2.0), "nu": (1e-3, 1e-1)}
    result = bilevel.learn(
        truth, data, start={"alpha": 1.5}, bounds=bounds, fixed={"xi": 0.0}, max_points=20
    )
    table = result.history
    assert table["alpha"].iloc[0] == pytest.approx(1.5)
    # the paper's start of nu is 0.1, which is a bound here
    assert table["nu"].iloc[0] == pytest.approx(0.1)
    assert table["alpha"].between(0.5 - 1e-12, 2.0 + 1e-12).all()
    assert result.params["alpha"] == pytest.approx(0.5)
    assert any("alpha has reached its lower bound" in warning for warning in result.warnings)
    assert "alpha has reached its lower bound" in repr(result)
    same = bilevel.learn(
        truth,
        data,
        learn=("nu", "alpha"),
        start=(0.1, 1.5),
        bounds=[(1e-3, 1e-1), (0.5, 2.0)],
        fixed={"xi": 0},
        max_points=20,
    )
    assert same.theta.tobytes() == result.theta.tobytes()


def test_threads_change_nothing_and_seeds_change_the_path() -> None:
    truth, data = leaves()
    one, two = (bilevel.learn(truth, data, threads=threads, max_points=15) for threads in (1, 2))
    assert one._learned == two._learned
    # seeds are those of the solver without derivatives
    plain, other, again = (
        bilevel.learn(truth, data, seed=seed, max_points=15, solver="derivative-free")
        for seed in (0, 5, 5)
    )
    assert other._learned == again._learned
    assert not np.array_equal(plain.history["alpha"][:4], other.history["alpha"][:4])


def test_both_solvers_learn_the_same() -> None:
    truth, data = leaves()
    usual, gradient, plain = (
        bilevel.learn(truth, data, solver=solver)
        for solver in ("auto", "gradient", "derivative-free")
    )
    assert usual._learned == gradient._learned
    assert usual.solver == "gradient" and plain.solver == "derivative-free"
    assert usual.converged and plain.converged
    assert abs(usual.f - plain.f) < 1e-4 * plain.f
    assert usual.work < plain.work
    assert plain.gradient is None and "gradient" not in repr(plain)
    made = usual.gradient
    assert made is not None and made["norm"] >= 0.0 and made["error"] > 0.0
    assert made["reconstructions"] > 0 and made["adjoints"] > 0
    assert "projected gradient = " in repr(usual)
    assert "projected gradient" in usual._repr_html_()
    other = bilevel.learn(truth, data, kappa=0.01, max_points=10)
    assert other._learned["evaluations"] != usual._learned["evaluations"][:10]


def test_gradients_that_cannot_be_used_are_refused() -> None:
    truth, data = leaves()
    for more, name in (({"accuracy": 50}, "accuracy"), ({"image_range": (0, 1)}, "image_range")):
        arguments: dict[str, Any] = {"max_points": 5, **more}
        with pytest.raises(ValueError, match=f"solver='gradient' cannot be used with {name}"):
            bilevel.learn(truth, data, solver="gradient", **arguments)
        assert bilevel.learn(truth, data, **arguments).solver == "derivative-free"
    with pytest.raises(ValueError, match="solver is 'newton', but must be one of 'auto'"):
        bilevel.learn(truth, data, solver="newton")
    with pytest.raises(ValueError, match="kappa is 0.0, but must be positive"):
        bilevel.learn(truth, data, kappa=0)
    with pytest.raises(ValueError, match="a model that is a function has no derivatives"):
        bilevel.learn(truth, None, model=lambda *_: None, solver="gradient")


def test_a_number_of_iterations() -> None:
    truth, data = leaves()
    result = bilevel.learn(truth, data, accuracy=7, method="gd", max_points=10)
    # seven gradients, and one for the certificate
    assert set(result.history["work"]) <= {3 * 7, 3 * 8}
    # so few iterations leave a visible error, which is bounded
    exact = ((result.apply(data, accuracy=1e-8) - truth) ** 2).sum() / 3
    assert 1e-4 < abs(exact - result.f) <= result.f_error < 10.0
    assert (
        result.f - result.f_error
        <= result.interval[0]
        <= exact
        <= result.interval[1]
        <= result.f + result.f_error
    )
    denoised = bilevel.denoise_tv(data[0], **result.params, accuracy=1e-3, method="gd")
    assert denoised.x.tobytes() == result.apply(data[0], accuracy=1e-3).tobytes()


def test_methods_differ_in_work_only() -> None:
    truth, data = leaves()
    options = {"learn": ("alpha",), "max_points": 8}
    auto, gd = (bilevel.learn(truth, data, method=method, **options) for method in ("auto", "gd"))
    assert gd.work > 1.5 * auto.work
    assert abs(gd.f - auto.f) < 0.1 * auto.f


@pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="threads are counted where Linux shows them"
)
def test_threads_are_as_many_as_asked_for() -> None:
    # in a process of its own, where no other threads come and go; 5 threads cannot be the default
    # number of two runs
    script = """
import os, bilevel
truth = bilevel.phantoms.box_functions(2, 16)
before = len(os.listdir("/proc/self/task"))
runs = [bilevel.Run(truth, truth, threads=threads) for threads in (3, 2)]
print(len(os.listdir("/proc/self/task")) - before)
"""
    counted = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert counted.stdout.strip() == "5"


# ½‖Ax − y‖²_S + α TV + ½ξ‖x‖²: an independent implementation of the operators


def tv_gradient(x: Any, nu: float) -> Any:
    if x.ndim == 1:
        d = np.diff(x, prepend=0.0)
        flux = d / np.sqrt(np.abs(d) ** 2 + nu**2)
        return flux - np.append(flux[1:], 0.0)
    d = [np.diff(x, axis=axis, prepend=x.take([0], axis)) for axis in (0, 1)]
    total = np.zeros_like(x)
    for axis, part in enumerate(d):
        flux = np.moveaxis(part / np.sqrt(d[0] ** 2 + d[1] ** 2 + nu**2), axis, 0)
        own = np.moveaxis(total, axis, 0)
        own[1:] += flux[1:]
        own[:-1] -= flux[1:]
    return total


def test_deblurring() -> None:
    kernel = np.array([[0.0, 0.1, 0.0], [0.1, 0.5, 0.2], [0.0, 0.1, 0.0]])
    truth, _ = leaves(2)
    padded = np.zeros(truth.shape[1:])
    padded[:3, :3] = kernel
    response = np.fft.fft2(np.roll(padded, (-1, -1), (0, 1)))

    def blur(x: Any, h: Any = response) -> Any:
        return np.fft.ifft2(h * np.fft.fft2(x)).real

    data = bilevel.add_noise(np.stack([blur(x) for x in truth]), 0.02, seed=2)
    result = bilevel.learn(
        truth,
        data,
        model="deblur",
        kernel=kernel,
        boundary="periodic",
        fixed={"xi": 1e-3},
        max_points=20,
    )
    x = result.apply(data[0], accuracy=1e-8)
    values = {**result.params, **result.fixed}
    slope = (
        blur(blur(x) - data[0], response.conj())
        + values["alpha"] * tv_gradient(x, values["nu"])
        + values["xi"] * x
    )
    assert np.linalg.norm(slope) < 1e-6
    assert result.scores["psnr_after"].mean() > result.scores["psnr_before"].mean()


def blurred(truth: Any, kernel: Any, size: int) -> Any:
    """Blur as a camera does: pixels outside of the picture count, too."""
    rows, cols = kernel.shape
    made = sum(
        kernel[i, j] * truth[i : i + size, j : j + size] for i in range(rows) for j in range(cols)
    )
    return np.asarray(made)


def test_pictures_of_a_camera_are_deblurred() -> None:
    """The margin is reconstructed, too: nothing is assumed about what lies beyond the borders."""
    kernel = np.outer(*[np.exp(-0.5 * (np.arange(-6, 7) / 2.0) ** 2)] * 2)
    scene = bilevel.phantoms.dead_leaves(2, (60, 60))
    truth = scene[:, 6:-6, 6:-6]
    data = np.stack([blurred(x, kernel / kernel.sum(), 48) for x in scene])
    data = bilevel.add_noise(data, 0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = bilevel.learn(truth, data, model="deblur", kernel="gaussian:2", max_points=12)
        gain = [bilevel.psnr(result(y), x) - bilevel.psnr(y, x) for x, y in zip(truth, data)]
    assert list(result.params) == ["alpha", "nu"] and result(data[0]).shape == (48, 48)
    assert min(gain) > 1.0


def test_blur_that_does_not_wrap_around_is_warned_of() -> None:
    kernel = np.outer(*[np.exp(-(np.linspace(-2.5, 2.5, 9) ** 2))] * 2)
    kernel /= kernel.sum()
    # a ramp: smooth inside, but its opposite borders differ
    scene = np.add.outer(np.zeros(40), np.linspace(0.0, 1.0, 40))
    truth = scene[4:-4, 4:-4]
    real = blurred(scene, kernel, 32)
    options: dict[str, Any] = {
        "model": "deblur",
        "kernel": kernel,
        "boundary": "periodic",
        "max_points": 2,
    }
    with pytest.warns(UserWarning, match=r"repeat.*data\[0\] is not periodic"):
        result = bilevel.learn([truth], [real], **options)
    with pytest.warns(UserWarning, match=r"1 of 2 pictures are not periodic.*validation data\[0\]"):
        flat = np.full((32, 32), 0.5)
        bilevel.Run([flat], [flat], validation=([truth], [real]), **options)
    with pytest.warns(UserWarning, match=r"repeat.*data is not periodic"):
        result.apply(real)
    wrapped = np.fft.ifft2(
        np.fft.fft2(truth) * np.fft.fft2(np.roll(np.pad(kernel, (0, 23)), (-4, -4), (0, 1)))
    ).real
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bilevel.Run([truth], [wrapped], **options)
        result.apply(wrapped)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (np.full((3, 3), 1.0), "kernel sums to 9: it is divided by its sum"),
        (np.full((2, 3), 1 / 6), "kernel has 2 x 3 values and no middle"),
        (np.pad([[1.0]], (0, 4)), "largest value of the kernel is in a corner"),
    ],
)
def test_kernels_that_are_meant_in_another_way_are_warned_of(kernel: Any, message: str) -> None:
    flat = np.full((12, 12), 0.5)
    with pytest.warns(UserWarning, match=message):
        bilevel.Run([flat], [flat], model="deblur", kernel=kernel)


def test_inpainting() -> None:
    truth, data = leaves(2)
    mask = np.random.default_rng(1).random(truth.shape[1:]) < 0.6
    data = np.where(mask, data, np.nan)
    result = bilevel.learn(
        truth, data, model="inpaint", mask=mask, fixed={"xi": 1e-3}, max_points=20
    )
    x = result.apply(data[0], accuracy=1e-8)
    values = {**result.params, **result.fixed}
    fit = np.where(mask, x - np.where(mask, data[0], 0.0), 0.0)
    assert (
        np.linalg.norm(fit + values["alpha"] * tv_gradient(x, values["nu"]) + values["xi"] * x)
        < 1e-5
    )
    with pytest.raises(ValueError, match="data"):
        bilevel.learn(truth, np.where(mask, np.nan, data), model="inpaint", mask=mask)


def sampling_data() -> tuple[Any, Any]:
    truth = bilevel.phantoms.box_functions(2, 12, seed=1)
    return truth, bilevel.add_noise(np.fft.fft(truth, norm="ortho"), 0.05, seed=1)


@pytest.mark.parametrize("kind", ["root", "nonsmooth"])
def test_sampling_from_k_space(kind: str) -> None:
    truth, data = sampling_data()
    penalty = {"l1": 0.05, "l1_kind": kind}
    result = bilevel.learn(truth, data, model="sampling", penalty=penalty, max_points=120)
    assert list(result.params) == ["theta"] and len(result.theta) == 12
    weights = result.params["theta"]
    assert weights.shape == (12,)
    assert np.allclose(weights, result.theta / (1 - result.theta))
    assert np.allclose(
        result.history["theta[3]"][result.history["f"] == result.f], weights[3], rtol=1e-12
    )
    x = result.apply(data, accuracy=1e-8)
    assert x.dtype == np.complex128 and x.shape == data.shape
    fit = np.fft.ifft(weights * (np.fft.fft(x[0], norm="ortho") - data[0]), norm="ortho")
    slope = (
        fit
        + result.fixed["alpha"] * tv_gradient(x[0], result.fixed["nu"])
        + result.fixed["xi"] * x[0]
    )
    assert np.linalg.norm(slope) < 1e-6
    f = (np.abs(x - truth) ** 2).sum() / 2 + 0.05 * np.abs(result.theta).sum()
    assert abs(f - result.f) <= result.f_error + 1e-5 < 0.05 * f
    assert "frequencies = 12" in repr(result)


@pytest.mark.skipif(not Path(PROGRAM).is_file(), reason="BILEVEL_PROGRAM is not set to the program")
class TestBitForBit:
    """The program learns the same, to the last bit of everything that it writes."""

    @staticmethod
    def program(folder: Path, *args: str) -> dict[str, Any]:
        run = folder / "run"
        subprocess.run(
            [PROGRAM, "-q", "learn", *args, "--out", str(run)], check=True, capture_output=True
        )
        return dict(json.loads((run / "result.json").read_text()))

    @staticmethod
    def same(result: bilevel.Result, program: dict[str, Any]) -> None:
        learned = {name: value for name, value in result._learned.items() if name != "message"}
        learned.pop("termination"), program.pop("termination")
        assert learned == program
        thetas = np.hstack([parameter["theta"] for parameter in program["parameters"]])
        assert result.theta.tolist() == thetas.tolist()

    @pytest.mark.parametrize("residuals", ["image", "pixel"])
    def test_denoising(self, tmp_path: Path, residuals: str) -> None:
        args = ["--count", "3", "--size", "16", "--seed", "4", "--noise", "0.1"]
        more = [
            "--residuals",
            residuals,
            "--objective",
            "sum",
            "--penalty-condition",
            "1e-6",
            "--max-points",
            "25",
        ]
        truth = bilevel.phantoms.dead_leaves(3, (16, 16), seed=4)
        data = [bilevel.add_noise([x] * (i + 1), 0.1, seed=4)[i] for i, x in enumerate(truth)]
        options = {
            "residuals": residuals,
            "objective": "sum",
            "penalty": {"condition": 1e-6},
            "max_points": 25,
        }
        self.same(
            bilevel.learn(truth, data, **options), self.program(tmp_path, "denoise", *args, *more)
        )

    def test_sampling(self, tmp_path: Path) -> None:
        truth, data = sampling_data()
        np.save(tmp_path / "truth.npy", truth)
        np.save(tmp_path / "data.npy", data)
        files = ["--images", str(tmp_path / "truth.npy"), "--noisy", str(tmp_path / "data.npy")]
        program = self.program(
            tmp_path, "sampling", *files, "--penalty-l1", "0.02", "--max-points", "60"
        )
        self.same(
            bilevel.learn(truth, data, model="sampling", penalty={"l1": 0.02}, max_points=60),
            program,
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"truth": np.zeros(8)}, r"truth has shape \(8,\)"),
        ({"truth": []}, "truth is empty"),
        (
            {"truth": np.zeros((2, 3, 3))},
            r"truth\[0\] has shape \(3, 3\), but data\[0\] has shape \(8,\)",
        ),
        ({"truth": np.zeros((3, 8))}, "truth has 3 images, but data has 2"),
        ({"truth": [np.zeros(8), np.zeros((8, 1))]}, "truth mixes signals"),
        ({"data": np.zeros((2, 8), complex)}, "data is complex|data.* is complex"),
        ({"data": 3.0}, "data must be an array"),
        ({"model": "tvl"}, "model is 'tvl', but must be one of"),
        ({"model": "sampling"}, "complex k-space"),
        ({"model": "deblur"}, "needs the argument kernel"),
        ({"model": "sampling", "mask": np.ones(8)}, "does not have the argument mask"),
        ({"model": "inpaint", "mask": np.ones(7)}, "shape"),
        ({"model": "inpaint", "mask": np.full(8, 0.5)}, "True where"),
        ({"learn": "alpha"}, r"such as \('alpha',\)"),
        ({"learn": ("alpha", "beta")}, "'beta'"),
        ({"learn": ("alpha", "alpha")}, "twice"),
        ({"learn": ("alpha",), "fixed": {"alpha": 1.0}}, "in learn and in fixed"),
        ({"fixed": {"alpha": 1.0, "nu": 1.0, "xi": 1.0}}, "nothing to learn"),
        ({"fixed": {"nu": np.nan}}, r"fixed\['nu'\] is nan"),
        (
            {"start": {"alpha": 1e9}, "bounds": {"alpha": (1e-3, 1.0)}},
            r"start\['alpha'\] is 1000000000.0, outside",
        ),
        (
            {"start": {"alpha": 1e9}},
            r"start\['alpha'\] is 1e9, outside of the default bounds \(1e-7, 1e7\): give bounds",
        ),
        ({"start": {"xi": 2.0}}, r"start\['xi'\] is 2e0, outside of the default bounds"),
        (
            {"model": "sampling", "data": np.ones((2, 8), complex), "start": 0.999},
            r"start\['theta'\].*default bounds",
        ),
        ({"learn": 3}, "learn must be a sequence of names, not 3"),
        ({"learn": None}, "learn must be a sequence of names, not None"),
        ({"fixed": [1, 2]}, "fixed must be a dictionary"),
        ({"callback": 3}, "callback must be a function of the run, not 3"),
        ({"fixed": {"nu": 1e-200}}, "nu is 1e-200, but"),
        (
            {"learn": ("alpha",), "start": (1.0, 2.0)},
            "start has 2 entries, but 1 parameter is learned",
        ),
        ({"start": (1.0,)}, "start has 1 entry, but 3 parameters are learned"),
        ({"truth": np.zeros((1, 8))}, "truth has 1 image, but data has 2"),
        (
            {"model": "deblur", "kernel": np.ones((3, 3))},
            "kernel has two axes, but the images of truth have one axis",
        ),
        ({"model": "deblur", "kernel": np.zeros(3)}, "kernel is zero everywhere"),
        ({"model": "deblur", "kernel": -np.ones(3)}, "sum must be positive"),
        ({"model": "deblur", "kernel": "box:3"}, "describes no kernel"),
        ({"model": "deblur", "kernel": np.ones(3), "boundary": "zero"}, "boundary"),
        ({"boundary": "periodic"}, "boundary is for model='deblur'"),
        (
            {"model": "deblur", "kernel": np.ones(9)},
            r"kernel has shape \(9,\), which is larger than truth\[0\]",
        ),
        (
            {
                "model": "deblur",
                "kernel": np.ones(5),
                "validation": (np.ones((1, 4)), np.ones((1, 4))),
            },
            r"kernel has shape \(5,\), which is larger than validation truth\[0\]",
        ),
        (
            {"validation": (np.ones((1, 4, 4)), np.ones((1, 4, 4)))},
            "validation holds pictures, but truth holds signals",
        ),
        (
            {
                "model": "sampling",
                "data": np.ones((2, 8), complex),
                "validation": (np.ones((1, 4)), np.ones((1, 4), complex)),
            },
            "validation has 4 frequencies, but truth has 8",
        ),
        ({"bounds": {"alpha": (1.0, 0.1)}}, r"bounds\['alpha'\].*above"),
        ({"bounds": {"alpha": (0.0, 0.1)}}, r"bounds\['alpha'\].*within"),
        ({"bounds": {"alpha": 1.0}}, r"\(lower, upper\)"),
        ({"start": (1.0, 2.0)}, "start has 2 entries, but 3 parameters"),
        ({"objective": "max"}, "objective is 'max'"),
        ({"residuals": None}, "residuals is None"),
        ({"penalty": {"l1": 1.0}}, r"penalty\['l1'\] is not known for model='tv'"),
        ({"penalty": {"condition": -1.0}}, r"penalty\['condition'\]"),
        ({"penalty": 1e-6}, "penalty must be a dictionary"),
        ({"max_points": 0}, "max_points is 0"),
        ({"max_points": 1.5}, "max_points must be a whole number"),
        ({"method": "adam"}, "method is 'adam'"),
        ({"accuracy": "high"}, "accuracy is 'high'"),
        ({"accuracy": 1e-3}, "'dynamic' or a number of iterations"),
        ({"accuracy": True}, "accuracy is True"),
        ({"threads": 0}, "threads is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"validation": np.zeros(3)}, r"validation must be \(truth, data\)"),
        ({"validation": ([np.zeros(3)], [np.zeros(4)])}, r"validation truth\[0\]"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, Any], message: str) -> None:
    arguments = {"truth": np.zeros((2, 8)), "data": np.ones((2, 8)), **change}
    with pytest.raises((ValueError, TypeError), match=message):
        bilevel.learn(**arguments)


@pytest.mark.parametrize(
    ("shape", "is_picture"),
    [
        ((32, 32), True),
        ((16, 64), True),
        ((20, 256), False),
        ((10, 64), False),
        ((15, 20), False),
        ((2, 16, 16), False),
    ],
)
def test_a_picture_is_not_taken_for_signals_in_silence(
    shape: tuple[int, ...], is_picture: bool
) -> None:
    truth, data = np.zeros(shape), np.ones(shape)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bilevel.Run(truth, data)
        bilevel.Run(list(truth), list(data))
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == is_picture
    if is_picture:
        assert (
            f"{shape[0]} signals of {shape[1]} samples" in messages[0]
            and "[picture]" in messages[0]
        )


def test_the_summary_names_the_images() -> None:
    truth, data = leaves(1, (8, 6))
    assert "after 2 points, learned from 1 picture of 8 × 6" in repr(
        bilevel.learn(truth, data, max_points=2)
    )
    assert "after 1 point, learned from 8 signals of 6 samples" in repr(
        bilevel.learn(truth[0], data[0], max_points=1)
    )
    mixed = bilevel.learn([truth[0], truth[0][:4]], [data[0], data[0][:4]], max_points=2)
    assert (
        "learned from 2 pictures of different sizes" in repr(mixed)
        and "different sizes" in mixed._repr_html_()
    )


@pytest.mark.parametrize(
    ("largest", "advice"),
    [(8.0, None), (200.0, "divide truth and data by 255"), (4095.0, "by 4095")],
)
def test_values_beyond_one_are_noticed(largest: float, advice: str | None) -> None:
    truth, data = leaves(2, (8, 8))
    truth, data = truth * largest / truth.max(), data * largest
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bilevel.Run(truth, data)
    assert len(caught) == (advice is not None)
    if advice is not None:
        assert issubclass(caught[0].category, UserWarning) and advice in str(caught[0].message)
        with pytest.warns(UserWarning, match=r"\[0, 1\]"):
            bilevel.Run(truth.astype(np.uint16), data)


@pytest.mark.parametrize("kernel", [None, "gaussian:1"])
def test_data_that_are_the_truth_are_noticed(kernel: str | None) -> None:
    truth, data = leaves(2, (8, 8))
    model = "tv" if kernel is None else "deblur"
    with pytest.warns(UserWarning, match="data equal truth, so there is nothing to learn") as found:
        bilevel.learn(truth, truth, model=model, kernel=kernel, max_points=1)
    assert {warning.filename for warning in found} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # an image without noise, and missing pixels, are no reason
        bilevel.Run(truth, [truth[0], data[1]], model=model, kernel=kernel)
        bilevel.Run(truth, truth, model=model, kernel=kernel, validation=(truth, data))
        hidden = truth.copy()
        hidden[:, ::3] = np.nan
        bilevel.Run(truth, hidden, model=model, kernel=kernel)


@pytest.mark.parametrize("white", [1.0, 255.0])
def test_images_in_another_unit_than_the_learned_ones_are_noticed(
    white: float, tmp_path: Path
) -> None:
    truth, data = leaves(2, (8, 8))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = bilevel.learn(truth * white, data * white, max_points=2)
    made.save(tmp_path / "result.json")
    for result in (made, bilevel.load(tmp_path / "result.json")):
        with pytest.warns(UserWarning, match="learned from data between .* learn from images like"):
            result(data[0] * 256.0 / white)
        with pytest.warns(UserWarning, match=r"the values of data\[1\] lie between"):
            result([data[0] * white, data[1] * 256.0 / white])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result(data * white)
            result(np.full((8, 8), 0.5))
            missing = data[0] * white
            missing[0, 0] = np.nan
            result(missing)


def test_a_kernel_must_fit_what_it_is_applied_to() -> None:
    truth, data = leaves(1)
    result = bilevel.learn(truth, data, model="deblur", kernel=np.full((3, 3), 1 / 9), max_points=2)
    with pytest.raises(
        ValueError, match=r"data has shape \(2, 9\), which is smaller than the kernel"
    ):
        result.apply(np.ones((2, 9)))


def test_equal_bounds_are_no_reason_to_widen_them() -> None:
    truth, data = leaves(2)
    result = bilevel.learn(
        truth, data, bounds={"alpha": (0.5, 2.0), "xi": (1e-3, 1e-3)}, max_points=20
    )
    assert [
        warning
        for warning in result.warnings
        if "bound" in warning and not warning.startswith("nu")
    ] == ["alpha has reached its lower bound, 0.5: wider bounds may be better"]


def test_a_spent_budget_says_whether_more_would_help() -> None:
    truth, data = leaves()
    few, many = (
        bilevel.learn(truth, data, max_points=n, penalty={"condition": 1e-9}) for n in (9, 60)
    )
    for result in (few, many):
        if result.termination != "exhausted":
            continue
        last = result.num_points // 3
        before = result.iterations[result.iterations["num_points"] <= result.num_points - last][
            "f"
        ].iloc[-1]
        gain = (before - result.f) / before
        advice = "more would hardly help" if gain < 1e-3 else "more may help"
        assert (
            f"the limit of {result.num_points} points is reached; "
            f"the last {last} points lowered f by {100 * gain:.3g} %: {advice}"
        ) in repr(result)
    assert few.termination == "exhausted" and few.num_points == 9
    assert "NOT CONVERGED, the limit of 1 point is reached: there may" in repr(
        bilevel.learn(truth, data, max_points=1)
    )


@pytest.mark.parametrize("limits", [(0.0, 1.0), (0.0, None), (0.3, 0.6)])
def test_pixels_stay_within_their_range(limits: tuple[float, float | None], tmp_path: Path) -> None:
    truth = bilevel.phantoms.box_functions(3, 32)
    data = bilevel.add_noise(truth, 0.3)
    result = bilevel.learn(truth, data, learn=("alpha",), max_points=10, image_range=limits)
    path = tmp_path / "result.json"
    result.save(path)
    lower, upper = limits[0], np.inf if limits[1] is None else limits[1]
    for made in (result.apply(data), bilevel.load(path).apply(data)):
        assert (made >= lower).all() and (made <= upper).all()
    values = {"alpha": result.params["alpha"], **result.fixed}
    x, error_bound, _ = bilevel.denoise_tv(data[0], **values, accuracy=1e-6, image_range=limits)
    assert error_bound <= 1e-6
    assert np.linalg.norm(x - result.apply(data[0], accuracy=1e-6)) <= 2e-6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image_range": 1.0}, "image_range must be"),
        ({"image_range": (1.0, 0.0)}, "the smallest value is above the largest"),
        ({"image_range": (0.0, np.inf)}, r"image_range\[1\] is inf"),
        (
            {"image_range": (0.0, 1.0), "model": "sampling", "data": np.ones((2, 8), complex)},
            "no range",
        ),
        ({"image_range": (0.0, 1.0), "model": lambda *_: None}, "image_range has no meaning"),
    ],
)
def test_bad_ranges_are_named(change: dict[str, Any], message: str) -> None:
    arguments = {"truth": np.zeros((2, 8)), "data": np.ones((2, 8)), **change}
    with pytest.raises((ValueError, TypeError), match=message):
        bilevel.learn(**arguments)


class OneRank:
    """A communicator with the smallest set of methods."""

    def Get_rank(self) -> int:
        return 0

    def Get_size(self) -> int:
        return 1

    def allgather(self, own: object) -> list[object]:
        return [own]


def test_any_communicator_is_accepted() -> None:
    truth = bilevel.phantoms.box_functions(3, 16)
    data = bilevel.add_noise(truth, 0.1)
    plain = bilevel.learn(truth, data, max_points=8)
    shared = bilevel.learn(truth, data, max_points=8, comm=OneRank())
    assert shared._learned == plain._learned
    with pytest.raises(TypeError, match="comm must be a communicator of mpi4py"):
        bilevel.learn(truth, data, comm=3)
    with pytest.raises(ValueError, match="truth is empty on all ranks"):
        bilevel.learn([], [], comm=OneRank())


@pytest.mark.parametrize("is_saved", [False, True])
def test_an_exchange_that_fails(is_saved: bool, tmp_path: Path) -> None:
    """The exception of the communicator is raised, not a result without the other ranks."""

    class Broken(OneRank):
        calls = 0
        fails_at = 0

        def allgather(self, own: object) -> list[object]:
            self.calls += 1
            if self.calls == self.fails_at:
                raise ConnectionError("the cable is out")
            return [own]

    truth = bilevel.phantoms.box_functions(3, 16)
    data = bilevel.add_noise(truth, 0.1)
    counted = Broken()
    out = tmp_path / "whole" if is_saved else None
    bilevel.learn(truth, data, max_points=3, out=out, comm=counted)
    assert counted.calls > 20
    for fails_at in range(1, counted.calls + 1):
        broken = Broken()
        broken.fails_at = fails_at
        with pytest.raises(ConnectionError, match="cable"):
            out = tmp_path / str(fails_at) if is_saved else None
            bilevel.learn(truth, data, max_points=3, out=out, comm=broken)
