"""The certified solver, scores, and arrays on their way to Rust."""

from __future__ import annotations

import _thread
import json
import threading
import time
from typing import Any

import bilevel
import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from bilevel import _bilevel
from bilevel._arrays import flat, image, images
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

VALUES = {"alpha": 0.2, "nu": 0.05, "xi": 0.01}


def gradient(x: Any, y: Any, alpha: float, nu: float, xi: float) -> Any:
    """The gradient of the formula in the documentation, implemented independently."""
    if x.ndim == 1:
        d = [np.diff(x, prepend=0.0)]
    else:
        d = [np.diff(x, axis=axis, prepend=x.take([0], axis)) for axis in (0, 1)]
    flux = [part / np.sqrt(sum(p * p for p in d) + nu**2) for part in d]
    total = x - y + xi * x
    for axis, part in enumerate(flux):
        padded = np.concatenate([part, np.zeros_like(part.take([0], axis))], axis)
        adjoint = -np.diff(padded, axis=axis)
        if x.ndim == 2:
            # the first difference along this axis is always zero
            first = adjoint.take([0], axis) - part.take([0], axis)
            adjoint = np.concatenate(
                [first, adjoint.take(range(1, adjoint.shape[axis]), axis)], axis
            )
        total = total + alpha * adjoint
    return total


def rms(difference: NDArray[Any]) -> float:
    return float(np.sqrt(np.mean(difference**2)))


@pytest.mark.parametrize("shape", [(40,), (9, 14)])
@pytest.mark.parametrize("method", ["auto", "fista", "gd"])
def test_bounds_are_true(shape: tuple[int, ...], method: str) -> None:
    y = np.random.default_rng(1).random(shape)
    exact = bilevel.denoise_tv(y, **VALUES, accuracy=1e-11)
    # strong convexity with 1 + xi gives a bound that does not depend on the package
    distance = rms(gradient(exact.x, y, **VALUES)) / (1.0 + VALUES["xi"])
    assert distance < 1e-10
    for accuracy in (1.0, 1e-2, 1e-5):
        x, error_bound, iterations = bilevel.denoise_tv(
            y, **VALUES, accuracy=accuracy, method=method
        )
        assert rms(x - exact.x) - distance <= error_bound <= accuracy
        assert iterations < exact.iterations or method != "auto"


@pytest.mark.parametrize("shape", [(40,), (9, 14)])
@pytest.mark.parametrize("method", ["auto", "fista", "gd"])
@pytest.mark.parametrize("limits", [None, (0.2, 0.7)])
def test_a_warm_start_saves_iterations_and_keeps_the_bound(
    shape: tuple[int, ...], method: str, limits: tuple[float, float] | None
) -> None:
    y = np.random.default_rng(1).random(shape)
    options: dict[str, Any] = {**VALUES, "image_range": limits}
    exact = bilevel.denoise_tv(y, **options, accuracy=1e-11)
    cold = bilevel.denoise_tv(y, **options, accuracy=1e-6, method=method)
    rough = bilevel.denoise_tv(y, **options, accuracy=1e-4, method=method)
    for start in (exact, exact.x, rough, rough.x.tolist(), np.asfortranarray(rough.x)):
        warm = bilevel.denoise_tv(y, **options, accuracy=1e-6, method=method, start=start)
        assert rms(warm.x - exact.x) - 1e-10 <= warm.error_bound <= 1e-6
        assert warm.iterations < cold.iterations or cold.iterations <= 2
    # a start that is far off, even outside of the range, changes nothing about the bound
    for start in (np.full(shape, 50.0), -y):
        far = bilevel.denoise_tv(y, **options, accuracy=1e-6, method=method, start=start)
        assert rms(far.x - exact.x) - 1e-10 <= far.error_bound <= 1e-6
    # where the iteration starts anyway
    assert bilevel.denoise_tv(y, **VALUES, accuracy=1e-6, start=None).x.tobytes() == (
        bilevel.denoise_tv(y, **VALUES, accuracy=1e-6).x.tobytes()
    )


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (np.zeros(5), r"start has shape \(5,\), but y has shape \(4,\)"),
        (np.full(4, np.nan), "start is nan at 0"),
        (np.zeros(4, complex), "start is complex"),
        (np.ma.masked_array(np.zeros(4), [True] * 4), "start is a masked array"),
    ],
)
def test_bad_starts_are_named(start: Any, message: str) -> None:
    y = np.zeros(4)
    with pytest.raises(ValueError, match=message):
        bilevel.denoise_tv(y, **VALUES, accuracy=1e-3, start=start)


def test_a_missed_accuracy_is_warned_of() -> None:
    y = bilevel.phantoms.shepp_logan((32, 32))
    with pytest.warns(RuntimeWarning, match="was not reached"):
        made = bilevel.denoise_tv(y, **VALUES, accuracy=1e-8, max_iterations=2)
    assert made.error_bound > 1e-8 and made.iterations == 2
    exact = bilevel.denoise_tv(y, **VALUES, accuracy=1e-9).x
    assert rms(made.x - exact) <= made.error_bound
    with pytest.warns(RuntimeWarning, match="rounding|no longer helps"):
        bilevel.denoise_tv(y, **VALUES, accuracy=0.0)


def forms(y: Any) -> list[Any]:
    """The same numbers in other memory."""
    spread = np.zeros(tuple(2 * n for n in y.shape), y.dtype)[(slice(None, None, 2),) * y.ndim]
    spread[...] = y
    frozen = y.copy()
    frozen.flags.writeable = False
    shifted = np.frombuffer(b"\0" + y.tobytes(), y.dtype, offset=1).reshape(y.shape)
    return [spread, frozen, shifted, np.asfortranarray(y), np.flip(np.flip(y).copy()), y.tolist()]


DTYPES = st.sampled_from(["f2", "f4", "f8", ">f8", "i1", "i4", "u1", ">u2", "?"])
SHAPES = arrays.array_shapes(min_dims=1, max_dims=2, max_side=6)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_memory_and_type_do_not_matter(data: st.DataObject) -> None:
    dtype = np.dtype(data.draw(DTYPES))
    numbers = st.floats(-8, 8, width=16) if dtype.kind == "f" else None
    y = data.draw(arrays.arrays(dtype, SHAPES, elements=numbers))
    before = y.copy()
    expected = bilevel.denoise_tv(y.astype("f8"), **VALUES, accuracy=1e-3)
    assert (
        expected.x.shape == y.shape
        and expected.x.dtype == np.float64
        and expected.x.flags.c_contiguous
    )
    for form in [y, *forms(y)]:
        made = bilevel.denoise_tv(form, **VALUES, accuracy=1e-3)
        single = getattr(form, "dtype", None) == np.float32
        assert made.x.dtype == (np.float32 if single else np.float64)
        assert made.x.tobytes() == expected.x.astype(made.x.dtype).tobytes()
        assert made[1:] == expected[1:]
    assert (y == before).all()


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_what_is_infinite_is_found(data: st.DataObject) -> None:
    y = data.draw(arrays.arrays(np.float64, SHAPES, elements=st.floats(-1, 1)))
    where = tuple(data.draw(st.integers(0, n - 1)) for n in y.shape)
    y[where] = data.draw(st.sampled_from([np.inf, -np.inf]))
    place = str(where if y.ndim > 1 else where[0])
    with pytest.raises(ValueError, match="finite") as error:
        bilevel.denoise_tv(y, **VALUES, accuracy=1e-3)
    assert str(error.value).startswith(f"y is {y[where]} at {place}")
    with pytest.raises(ValueError, match="finite") as error:
        bilevel.learn([np.zeros_like(y), np.zeros_like(y)], [np.zeros_like(y), y])
    assert str(error.value).startswith(f"data[1] is {y[where]} at {place}")


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"y": np.zeros((2, 2, 2))}, ValueError, r"y has shape \(2, 2, 2\)"),
        ({"y": np.zeros((0, 3))}, ValueError, "empty"),
        ({"y": 1.0}, ValueError, r"y has shape \(\)"),
        ({"y": np.zeros(3, complex)}, ValueError, "y is complex"),
        ({"y": ["a"]}, TypeError, "y must hold numbers"),
        ({"y": [[1.0], [1.0, 2.0]]}, ValueError, "y is not an array"),
        ({"alpha": -1.0}, ValueError, "alpha is -1.0"),
        ({"nu": 0.0}, ValueError, "nu"),
        ({"xi": np.nan}, ValueError, "xi is nan"),
        ({"accuracy": "high"}, TypeError, "accuracy must be a number"),
        ({"accuracy": -1e-3}, ValueError, "accuracy"),
        ({"method": "newton"}, ValueError, "method is 'newton'"),
        ({"max_iterations": 0}, ValueError, "max_iterations"),
        ({"nu": 1e-200}, ValueError, "nu is 1e-200, but"),
        ({"alpha": 1e300}, ValueError, "alpha is 1e300,"),
    ],
)
def test_bad_arguments_are_named(
    change: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        bilevel.denoise_tv(**{"y": np.zeros(4), **VALUES, "accuracy": 1e-3, **change})


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("use", ["denoise", "apply"])
def test_it_can_be_interrupted(use: str) -> None:
    y = np.random.default_rng(1).random((24, 24))
    hard = {"alpha": 1e10, "nu": 1e-2, "xi": 1e-3}
    bounds = {"alpha": (1e9, 1e10)}
    # the parameters are those of the start
    run = bilevel.Run(
        [y],
        [y],
        learn=("alpha",),
        start={"alpha": 1e10},
        bounds=bounds,
        fixed={"nu": 1e-2, "xi": 1e-3},
        accuracy=1,
    )
    run.step()
    result = run.result()
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        # without an interruption this takes minutes, and the limit ends the test
        if use == "denoise":
            bilevel.denoise_tv(y, **hard, accuracy=1e-6, max_iterations=10_000_000)
        else:
            result.apply(y, accuracy=1e-6, max_iterations=10_000_000)
    timer.join()
    assert time.monotonic() - begun < 30.0


@pytest.mark.parametrize("method", ["auto", "fista", "gd"])
@pytest.mark.parametrize("shape", [(24,), (12, 10)])
def test_checks_for_ctrl_c_change_nothing(method: str, shape: tuple[int, ...]) -> None:
    y = np.random.default_rng(1).random(shape)
    settings = json.dumps(
        {"task": "denoise", "model": {"fixed": VALUES}, "solver": {"method": method}}
    )

    def made(unwatched: int, limit: int | None = None) -> Any:
        x, *rest = _bilevel.reconstruct(
            settings,
            {"kernel": None, "shape": None, "mask": None},
            [],
            flat(y),
            y.shape,
            None,
            1e-7,
            limit,
            unwatched,
        )
        return x.tobytes(), rest

    whole = made(10**9)
    assert whole[1][1] > 5
    assert all(made(unwatched) == whole for unwatched in (0, 1, 5, 40))
    assert made(2, 5) == made(10**9, 5) and made(2, 5)[1][1] == 5


def test_warnings_point_to_the_line_of_the_user() -> None:
    result = bilevel.learn(np.zeros((2, 8)), np.ones((2, 8)), max_points=2)
    for attempt in (
        lambda: bilevel.denoise_tv(np.ones(8), **VALUES, accuracy=0.0),
        lambda: result.apply(np.ones((2, 8)), accuracy=0.0),
        lambda: bilevel.learn(np.full((2, 8), 255), np.ones((2, 8)), max_points=2),
    ):
        with pytest.warns((RuntimeWarning, UserWarning)) as caught:
            attempt()
        assert {warning.filename for warning in caught} == {__file__}


def test_empty_arrays_are_refused() -> None:
    for empty in ([], np.zeros((0, 8, 8)), np.zeros((0, 8))):
        with pytest.raises(ValueError, match="truth is empty: it holds no images"):
            bilevel.add_noise(empty, 0.1)
    truth = bilevel.phantoms.dead_leaves(1, (8, 8))
    result = bilevel.learn(truth, truth, max_points=2)
    for empty in ([], (), np.zeros((0, 8, 8))):
        with pytest.raises(ValueError, match="data is empty: it holds no images"):
            result.apply(empty)


def test_arrays_are_not_copied_without_need() -> None:
    real, other = np.zeros((3, 4)), np.zeros(5, complex)
    assert np.shares_memory(flat(image("y", real)), real)
    assert np.shares_memory(flat(image("y", other, complex_too=True)), other)
    assert all(np.shares_memory(part, real) for part in images("y", real))
    # the answer is in memory of Rust
    assert not bilevel.denoise_tv(real, **VALUES, accuracy=1e-3).x.flags.owndata


def test_python_goes_on_while_rust_works() -> None:
    y = np.random.default_rng(1).random((200, 200))

    def work() -> None:
        with pytest.warns(RuntimeWarning):
            bilevel.denoise_tv(y, 10.0, 1e-5, 1e-5, accuracy=1e-9, method="gd", max_iterations=4000)

    worker = threading.Thread(target=work)
    worker.start()
    ticks = 0
    while worker.is_alive():
        time.sleep(0.002)
        ticks += 1
    assert ticks > 20


def test_quality_is_what_it_says() -> None:
    truth = bilevel.phantoms.dead_leaves(1, (24, 20), seed=3)[0]
    noisy = bilevel.add_noise(truth, 0.1, seed=3)
    assert bilevel.mse(noisy, truth) == pytest.approx(((noisy - truth) ** 2).mean(), rel=1e-12)
    assert bilevel.psnr(noisy, truth) == pytest.approx(
        -10 * np.log10(((noisy - truth) ** 2).mean()), rel=1e-12
    )
    assert bilevel.psnr(truth, truth) == np.inf
    assert bilevel.ssim(noisy, truth) < bilevel.ssim(truth, truth) == 1.0
    with pytest.raises(ValueError, match=r"x has shape \(24,\), but truth has shape \(24, 20\)"):
        bilevel.mse(truth[:, 0], truth)


def test_noise_is_independent_and_has_its_level() -> None:
    k = bilevel.add_noise(np.zeros((8, 4000), complex), 0.5, seed=7)
    assert (
        k.dtype == np.complex128
        and abs(np.abs(k).std(ddof=0) ** 2 + np.abs(k).mean() ** 2 - 0.25) < 0.01
    )
    assert abs(np.corrcoef(k.real)[np.triu_indices(8, 1)]).max() < 0.1
    listed = bilevel.add_noise([np.zeros(3), np.zeros(5)], 0.1)
    assert [part.shape for part in listed] == [(3,), (5,)]
    with pytest.raises(ValueError, match="sigma"):
        bilevel.add_noise(np.zeros(3), -0.1)
