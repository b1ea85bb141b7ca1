"""Models that are given by functions: learning with gradients, checks, exceptions."""

from __future__ import annotations

import shutil
import signal
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import bilevel
import numpy as np
import pytest
from bilevel.testing import check_model

NU = 0.05
TRUTH = bilevel.phantoms.box_functions(3, 24, seed=3)
DATA = bilevel.add_noise(TRUTH, 0.1, seed=3)


def root(d: Any) -> Any:
    return np.sqrt(d * d + NU * NU)


def gradient(theta: Any, data: Any, x: Any) -> Any:
    """The gradient of ½‖x − y‖² + Σ wⱼ √((xⱼ − xⱼ₋₁)² + ν²), with w = 10^θ and x₋₁ = 0."""
    d = np.diff(x, prepend=0.0)
    return x - data - np.diff(10.0**theta * d / root(d), append=0.0)


def curvature(theta: Any, data: Any) -> tuple[float, float]:
    return 1.0, 1.0 + 4.0 * float(np.max(10.0**theta)) / NU


def hessian_product(theta: Any, data: Any, x: Any, v: Any) -> Any:
    weights = 10.0**theta * NU * NU / root(np.diff(x, prepend=0.0)) ** 3
    return v - np.diff(weights * np.diff(v, prepend=0.0), append=0.0)


def mixed_product(theta: Any, data: Any, x: Any, q: Any) -> Any:
    d = np.diff(x, prepend=0.0)
    slopes = np.log(10.0) * 10.0**theta * np.diff(q, prepend=0.0) * d / root(d)
    return slopes if theta.size > 1 else [slopes.sum()]


def third_derivative(theta: Any, data: Any) -> float:
    # ‖D‖³ ≤ 8, and the third derivative of the root is at most 0.859/ν²
    return 8.0 * 0.859 / (NU * NU) * float(np.max(10.0**theta))


def mixed_bounds(theta: Any, data: Any, x: Any, q: Any, radius: float) -> tuple[Any, Any]:
    # the slope of the flux d/√(d² + ν²) is at most 1/ν and its size at most 1; ‖D‖² ≤ 4
    weights = np.log(10.0) * 10.0**theta
    dq = np.diff(q, prepend=0.0)
    if theta.size > 1:
        return weights * np.abs(dq) * 2.0 * radius / NU, weights * np.sqrt(2.0)
    size = float(np.sqrt(x.size))
    return weights * np.linalg.norm(dq) * 2.0 * radius / NU, weights * 2.0 * size


MODEL = bilevel.StronglyConvex(
    gradient, curvature, hessian_product, mixed_product, third_derivative, mixed_bounds
)
ONE: dict[str, Any] = {"start": {"alpha": -1.0}, "bounds": {"alpha": (-3.0, 1.0)}}


def test_gradients_give_the_answer_of_the_derivative_free_run() -> None:
    results = [
        bilevel.learn(TRUTH, DATA, model=MODEL, solver=solver, **ONE)
        for solver in ("auto", "derivative-free")
    ]
    assert [result.solver for result in results] == ["gradient", "derivative-free"]
    assert all(result.converged for result in results)
    a, b = results
    assert a.params["alpha"] == pytest.approx(b.params["alpha"], abs=2e-3)
    assert b.f == pytest.approx(a.f, rel=1e-5)
    assert a.gradient is not None and a.gradient["norm"] < 1e-3 * a.f
    assert len(a.scores) == 3 and a.scores["psnr_after"].min() > 22.0
    # the family of the Rust crate is the same problem
    rust = bilevel.learn(
        TRUTH, DATA, learn=("alpha",), fixed={"nu": NU, "xi": 1e-300}, bounds=[(1e-3, 10.0)]
    )
    assert np.log10(rust.params["alpha"]) == pytest.approx(a.params["alpha"], abs=2e-3)
    assert rust.f == pytest.approx(a.f, rel=1e-5)


def test_intervals_are_true_without_a_bound_on_third_derivatives() -> None:
    unknown = replace(MODEL, third_derivative=None)
    result = bilevel.learn(TRUTH, DATA, model=unknown, max_points=30, **ONE)
    assert result.solver == "gradient" and result.converged
    x = [MODEL.reconstruct(result.theta, y, y.shape, 1e-10) for y in DATA]
    f = float(np.sum((np.array(x) - TRUTH) ** 2)) / len(x)
    assert result.interval[0] <= f + 1e-9 and f - 1e-9 <= result.interval[1]
    known = bilevel.learn(TRUTH, DATA, model=MODEL, **ONE)
    assert known.params["alpha"] == pytest.approx(result.params["alpha"], abs=5e-3)


def test_a_weight_for_every_difference() -> None:
    result = bilevel.learn(
        TRUTH, DATA, model=MODEL, start={"map": np.full(24, -1.0)}, bounds={"map": (-3.0, 1.0)}
    )
    one = bilevel.learn(TRUTH, DATA, model=MODEL, **ONE)
    assert result.solver == "gradient" and result.params["map"].shape == (24,)
    assert result.interval[1] < 0.9 * one.interval[0]
    assert "map = 24 numbers from" in repr(result)
    with pytest.raises(TypeError, match=r"model\.reconstruct"):
        result.apply(DATA[0])


def test_complex_images_and_any_data() -> None:
    class Data:
        def __init__(self, y: Any) -> None:
            self.y = y

    model = bilevel.StronglyConvex(
        gradient=lambda w, data, x: x - data.y + w[0] * x,
        curvature=lambda w, data: (1.0 + w[0], 1.0 + w[0]),
        hessian_product=lambda w, data, x, v: (1.0 + w[0]) * v,
        mixed_product=lambda w, data, x, q: [np.vdot(x, q).real],
        third_derivative=0.0,
    )
    truth = [np.array([[1.0 + 2.0j, 0.5j]]), np.array([[2.0 - 1.0j, 1.0, 1.0j]])]
    data = [Data(1.5 * x) for x in truth]
    check_model(model, [0.3], data[1], truth[1] + 0.1)
    result = bilevel.learn(truth, data, model=model, start=[0.1], bounds=(0.0, 2.0))
    assert result.solver == "gradient" and result.params["theta"][0] == pytest.approx(0.5, abs=1e-4)
    x = model.reconstruct([0.5], data[0], (1, 2), 1e-8, dtype=complex)
    np.testing.assert_allclose(x, truth[0], atol=1e-7)


def test_right_functions_pass_the_check() -> None:
    check_model(MODEL, [-1.2], DATA[0], DATA[0])
    check_model(MODEL, np.linspace(-2.0, 0.0, 24), DATA[0], DATA[0])
    check_model(bilevel.StronglyConvex(gradient, curvature), [-1.2], DATA[0], DATA[0])


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("mixed_product is wrong", {"mixed_product": lambda *a: 2.0 * np.array(mixed_product(*a))}),
    ("mixed_product is wrong", {"mixed_product": lambda *a: -np.array(mixed_product(*a))}),
    (
        "hessian_product or gradient is wrong",
        {"hessian_product": lambda *a: 1.1 * hessian_product(*a)},
    ),
    ("or gradient", {"gradient": lambda *a: gradient(*a)[::-1]}),
    ("curvature or gradient is wrong", {"curvature": lambda *a: (1.0, 1.01)}),
    ("third_derivative is too small", {"third_derivative": 1e-3}),
    ("mixed_bounds.0. is too small", {"mixed_bounds": lambda *a: (0.0, mixed_bounds(*a)[1])}),
    ("mixed_bounds.1. is too small", {"mixed_bounds": lambda *a: (mixed_bounds(*a)[0], 0.0)}),
]


@pytest.mark.parametrize(("message", "changes"), WRONG)
def test_wrong_functions_are_caught(message: str, changes: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match=message):
        check_model(replace(MODEL, **changes), [-1.2], DATA[0], DATA[0])


def test_one_wrong_parameter_of_many_is_caught() -> None:
    def wrong(theta: Any, data: Any, x: Any, q: Any) -> Any:
        made = mixed_product(theta, data, x, q)
        made[17] *= -1.0
        return made

    theta = np.full(24, -1.2)
    with pytest.raises(AssertionError, match=r"mixed_product is wrong in theta\[17\]"):
        check_model(replace(MODEL, mixed_product=wrong), theta, DATA[0], DATA[0])


class OwnError(Exception):
    pass


@pytest.mark.parametrize("name", ["gradient", "curvature", "hessian_product", "mixed_product"])
def test_exceptions_arrive_with_their_traceback(name: str) -> None:
    calls: list[int] = []

    def broken(*arguments: Any) -> Any:
        calls.append(0)
        if len(calls) == 12:
            raise OwnError("from the model")
        return getattr(MODEL, name)(*arguments)

    model = replace(MODEL, **{name: broken})
    with pytest.raises(OwnError, match="from the model") as caught:
        bilevel.learn(TRUTH, DATA, model=model, **ONE)
    assert "broken" in [frame.name for frame in traceback.extract_tb(caught.tb)]
    assert len(calls) == 12 or name == "curvature"


def test_the_best_result_survives_an_exception() -> None:
    calls: list[int] = []

    def broken(*arguments: Any) -> Any:
        calls.append(0)
        if len(calls) == 20:
            raise OwnError
        return mixed_product(*arguments)

    with pytest.raises(OwnError) as caught:
        bilevel.learn(TRUTH, DATA, model=replace(MODEL, mixed_product=broken), **ONE)
    run = caught.value.run  # type: ignore[attr-defined]
    assert run.result().num_points >= 5


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_the_run() -> None:
    calls: list[int] = []

    def interrupted(*arguments: Any) -> Any:
        calls.append(0)
        if len(calls) == 20:
            signal.raise_signal(signal.SIGINT)
        return mixed_product(*arguments)

    with pytest.warns(RuntimeWarning, match="interrupted after"):
        result = bilevel.learn(TRUTH, DATA, model=replace(MODEL, mixed_product=interrupted), **ONE)
    assert result.termination == "interrupted" and np.isfinite(result.f)


ANSWERS: list[tuple[str, Any, str, type[Exception]]] = [
    (
        "gradient",
        np.ones(3),
        r"gradient returned an array of shape \(3,\), but .* \(24,\)",
        ValueError,
    ),
    ("gradient", np.full(24, np.nan), "gradient returned NaN or infinity", ValueError),
    ("gradient", np.ones(24) * 1j, "gradient returned complex numbers", ValueError),
    ("gradient", None, "gradient must return an array of numbers", TypeError),
    ("curvature", (0.0, 1.0), "needs 0 < μ ≤ L", ValueError),
    ("curvature", (2.0, 1.0), "needs 0 < μ ≤ L", ValueError),
    ("curvature", 1.0, "curvature must return two numbers", TypeError),
    ("hessian_product", np.ones((24, 1)), "hessian_product returned an array of shape", ValueError),
    ("hessian_product", np.full(24, np.inf), "hessian_product returned NaN", ValueError),
    ("mixed_product", np.ones(2), r"mixed_product returned .* \(2,\), but theta", ValueError),
    ("mixed_product", [np.nan], "mixed_product returned NaN", ValueError),
    ("third_derivative", -1.0, "third_derivative", ValueError),
]


@pytest.mark.parametrize(("name", "answer", "message", "kind"), ANSWERS)
def test_wrong_answers_are_refused(
    name: str, answer: Any, message: str, kind: type[Exception]
) -> None:
    model = replace(MODEL, **{name: lambda *_: answer})
    with pytest.raises(kind, match=message):
        bilevel.learn(TRUTH, DATA, model=model, **ONE)


def test_refused_parameters_are_avoided() -> None:
    def refusing(theta: Any, data: Any) -> tuple[float, float]:
        if theta[0] > -0.99:
            raise bilevel.Reject("too large")
        return curvature(theta, data)

    options: dict[str, Any] = {"start": {"alpha": -2.5}, "bounds": {"alpha": (-3.0, 1.0)}}
    model = replace(MODEL, curvature=refusing)
    result = bilevel.learn(TRUTH, DATA, model=model, **options)
    assert result.params["alpha"] < -0.99 and result.num_points > 1
    free = bilevel.learn(TRUTH, DATA, model=model, solver="derivative-free", **options)
    assert free.f == pytest.approx(result.f, rel=1e-3)


def test_models_without_derivatives_learn_without() -> None:
    model = bilevel.StronglyConvex(gradient, curvature)
    result = bilevel.learn(TRUTH, DATA, model=model, **ONE)
    assert result.solver == "derivative-free" and result.converged
    with pytest.raises(ValueError, match="the family has no derivatives"):
        bilevel.learn(TRUTH, DATA, model=model, solver="gradient", **ONE)


def test_models_are_checked() -> None:
    with pytest.raises(TypeError, match="gradient must be a function"):
        bilevel.StronglyConvex(1, curvature)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="both hessian_product and mixed_product"):
        bilevel.StronglyConvex(gradient, curvature, hessian_product)
    with pytest.raises(ValueError, match="data has 2 entries, but truth has 3 images"):
        bilevel.learn(TRUTH, DATA[:2], model=MODEL, **ONE)
    with pytest.raises(ValueError, match="mixed_bounds needs mixed_product"):
        bilevel.StronglyConvex(gradient, curvature, mixed_bounds=mixed_bounds)
    with pytest.raises(ValueError, match="validation truth has 1 image"):
        bilevel.learn(TRUTH, DATA, model=MODEL, validation=(TRUTH[:1], DATA[:2]), **ONE)
    with pytest.raises(ValueError, match="threads has no meaning"):
        bilevel.learn(TRUTH, DATA, model=MODEL, threads=2, **ONE)


MAP: dict[str, Any] = {"start": {"map": np.full(24, -1.0)}, "bounds": {"map": (-3.0, 1.0)}}


@pytest.mark.parametrize("where", [ONE, MAP])
def test_the_error_of_the_gradient_is_certified(where: dict[str, Any]) -> None:
    for points, kappa in ((1, 0.3), (3, 0.1), (6, 0.3)):
        result = bilevel.learn(TRUTH, DATA, model=MODEL, max_points=points, kappa=kappa, **where)
        assert result.gradient is not None and result.gradient["error"] is not None
        exact = np.zeros(result.theta.size)
        for y, truth in zip(DATA, TRUTH):
            x = MODEL.reconstruct(result.theta, y, y.shape, 1e-11)
            hessian = np.array([hessian_product(result.theta, y, x, e) for e in np.eye(x.size)])
            q = np.linalg.solve(hessian, 2.0 * (x - truth))
            exact -= np.array(mixed_product(result.theta, y, x, q)) / len(DATA)
        held = ((result.theta <= -3.0) & (exact > 0.0)) | ((result.theta >= 1.0) & (exact < 0.0))
        wrong = abs(float(np.linalg.norm(exact[~held])) - result.gradient["norm"])
        assert wrong <= result.gradient["error"] * (1.0 + 1e-9) + 1e-9 * result.f
    unknown = bilevel.learn(TRUTH, DATA, model=replace(MODEL, mixed_bounds=None), **ONE)
    assert unknown.gradient is not None and unknown.gradient["error"] is None


def test_bounds_that_fail_lose_no_result() -> None:
    model = replace(MODEL, mixed_bounds=lambda *a: (np.ones(3), 1.0))
    with pytest.warns(RuntimeWarning, match=r"mixed_bounds failed.*shape \(3,\)"):
        result = bilevel.learn(TRUTH, DATA, model=model, **ONE)
    assert result.converged and result.gradient is not None
    assert result.gradient["error"] is None


def test_held_out_images_are_scored() -> None:
    result = bilevel.learn(
        TRUTH[:2], DATA[:2], model=MODEL, validation=(TRUTH[2:], DATA[2:]), **ONE
    )
    alone = bilevel.learn(TRUTH[:2], DATA[:2], model=MODEL, **ONE)
    assert result.f == alone.f and result.theta == alone.theta
    assert list(result.scores["set"]) == ["training", "training", "validation"]
    x = MODEL.reconstruct(result.theta, DATA[2], TRUTH[2].shape, 1e-8)
    assert result.scores["mse_after"][2] == pytest.approx(np.mean((x - TRUTH[2]) ** 2), rel=1e-2)


HELD_OUT = TRUTH[2:], DATA[2:]
PAIRS: dict[str, Any] = {"truth": TRUTH[:2], "data": DATA[:2], "validation": HELD_OUT}


@pytest.mark.parametrize("solver", ["gradient", "derivative-free"])
def test_a_killed_run_continues_to_the_same_bits(solver: str, tmp_path: Path) -> None:
    out, killed = tmp_path / "run", tmp_path / "killed"

    def copy(run: bilevel.Run) -> None:
        # what a process leaves behind that is killed now
        if run.num_points >= 4 and not killed.is_dir():
            shutil.copytree(out, killed)

    whole = bilevel.learn(**PAIRS, model=MODEL, solver=solver, **ONE)
    saved = bilevel.learn(**PAIRS, model=MODEL, solver=solver, out=out, callback=copy, **ONE)
    assert saved._learned == whole._learned and repr(saved) == repr(whole)
    with pytest.raises(RuntimeError, match="has not ended, and its functions are not saved"):
        bilevel.load(killed)
    again = bilevel.resume(killed, model=MODEL, **PAIRS)
    assert again._learned == whole._learned and repr(again) == repr(whole)
    for folder in (out, killed):
        loaded = bilevel.load(folder)
        assert loaded._learned == whole._learned and loaded.params == whole.params
    assert bilevel.resume(out, model=MODEL, **PAIRS)._learned == whole._learned


def test_an_exception_leaves_the_run_as_it_was_saved(tmp_path: Path) -> None:
    calls: list[int] = []

    def broken(*arguments: Any) -> Any:
        calls.append(0)
        if len(calls) == 25:
            raise OwnError
        return mixed_product(*arguments)

    out = tmp_path / "run"
    with pytest.raises(OwnError) as caught:
        bilevel.learn(TRUTH, DATA, model=replace(MODEL, mixed_product=broken), out=out, **ONE)
    assert np.isfinite(getattr(caught.value, "run").result().f)
    whole = bilevel.learn(TRUTH, DATA, model=MODEL, **ONE)
    pairs = {"truth": TRUTH, "data": DATA}
    assert bilevel.resume(out, model=MODEL, **pairs)._learned == whole._learned


def test_runs_are_continued_with_what_they_were_started_with(tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = bilevel.learn(**PAIRS, model=MODEL, out=out, max_points=3, **ONE)
    assert first.termination == "exhausted"
    for change, kind, message in (
        ({"model": None}, ValueError, "pass model, truth and data"),
        ({"data": DATA[1:]}, RuntimeError, "images have changed"),
        ({"truth": TRUTH[1:]}, RuntimeError, "images have changed"),
        ({"validation": None}, RuntimeError, "images have changed"),
        ({"threads": 2}, ValueError, "threads has no meaning"),
        ({"max_points": 2}, ValueError, "3 points"),
    ):
        with pytest.raises(kind, match=message):
            bilevel.resume(out, **{**PAIRS, "model": MODEL, **change})
    more = bilevel.resume(out, max_points=100, model=MODEL, **PAIRS)
    assert more._learned == bilevel.learn(**PAIRS, model=MODEL, **ONE)._learned
    with pytest.raises(FileExistsError, match="already holds a run"):
        bilevel.learn(**PAIRS, model=MODEL, out=out, **ONE)
    bilevel.learn(TRUTH, DATA, out=tmp_path / "family", max_points=3)
    with pytest.raises(ValueError, match="model cannot be used with"):
        bilevel.resume(tmp_path / "family", model=MODEL)
    assert bilevel._bilevel.main(["bilevel", "resume", str(out)]) != 0
