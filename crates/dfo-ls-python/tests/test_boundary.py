"""Arrays of every kind at the boundary: shapes, dtypes, strides, read-only memory, NaN."""

from __future__ import annotations

from typing import Any

import dfo_ls
import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

numbers = st.floats(-100, 100, width=32)
vectors = arrays.arrays(np.float64, st.integers(1, 5), elements=numbers)


def misaligned(vector: np.ndarray) -> np.ndarray:
    """The same numbers one byte off, as in a field of a structured array."""
    record = np.zeros(1, dtype=[("flag", np.bool_), ("field", vector.dtype, vector.shape)])
    record["field"] = vector
    field = record["field"][0]
    assert field.flags.c_contiguous and not field.flags.aligned
    return field


def variants(vector: np.ndarray) -> list[Any]:
    """The same numbers in other types and memory layouts."""
    read_only = vector.copy()
    read_only.setflags(write=False)
    spread = np.zeros((len(vector), 3))[:, 1]
    spread[:] = vector
    return [
        vector.tolist(),
        tuple(vector),
        read_only,
        spread,
        vector[::-1].copy()[::-1],
        vector.astype(">f8"),
        vector.astype(np.float32),
        vector.astype(np.longdouble),
        vector.astype(object),
        np.asfortranarray(vector),
        misaligned(vector),
        misaligned(vector.astype(">f8")),
    ]


def first_questions(engine: dfo_ls.Engine, answer: Any) -> list[list[float]]:
    engine.ask()[0].answer(answer)
    engine.tell()
    return [job.x.tolist() for job in engine.ask()]


@settings(max_examples=40, deadline=None)
@given(vectors, vectors)
def test_what_an_array_looks_like_does_not_matter(x0: np.ndarray, residuals: np.ndarray) -> None:
    expected = first_questions(dfo_ls.Engine(x0), residuals)
    for start, answer in zip(variants(x0), variants(residuals)):
        assert first_questions(dfo_ls.Engine(start), answer) == expected


def test_misaligned_arrays_are_taken_everywhere() -> None:
    """In every argument, in every answer of a user's function, with every way to call it."""
    target = misaligned(np.array([1.0, 2.0]))

    def fun(x: np.ndarray) -> np.ndarray:
        return misaligned(x - target)

    x0 = misaligned(np.array([0.5, 0.5]))
    box = (misaligned(np.full(2, -5.0)), misaligned(np.full(2, 5.0)))
    known = [(misaligned(np.zeros(2)), misaligned(-np.array([1.0, 2.0])))]
    results: list[Any] = [
        dfo_ls.minimize(fun, x0),
        dfo_ls.minimize(fun, x0, bounds=box, known=known, projections=[misaligned]),
        dfo_ls.minimize(lambda x, *_: (fun(x), 0.0, None, 1), x0, inexact=True),
        dfo_ls.minimize(lambda xs: misaligned(xs - target), x0, vectorized=True),
        dfo_ls.solve(fun, x0),
        dfo_ls.solve(fun, x0, bounds=box, projections=[misaligned]),
        dfo_ls.solve(fun, dfo_ls.EvaluationDatabase(known)),
        dfo_ls.solve(fun, x0, nsamples=lambda *_: 2),
    ]
    for result in results:
        np.testing.assert_allclose(result.x, [1.0, 2.0], atol=1e-6)


def test_masks_are_not_ignored() -> None:
    masked = np.ma.masked_greater([1.0, 2.0, 300.0], 100)
    for run in (dfo_ls.minimize, dfo_ls.solve):
        with pytest.raises(ValueError, match="x0 has 1 masked entry"):
            run(lambda x: x, masked)
        with pytest.raises(ValueError, match="returned has 1 masked entry.*compressed"):
            run(lambda x: masked * x[0], [1.0])
        found = run(lambda x: np.ma.masked_array(x - 2.0), np.ma.masked_array([1.0])).x
        np.testing.assert_allclose(found, 2.0, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(arrays.arrays(st.sampled_from([np.int8, np.uint16, np.int64, np.bool_]), st.integers(1, 4)))
def test_integers_are_numbers(values: np.ndarray) -> None:
    assert first_questions(dfo_ls.Engine(values), values) == first_questions(
        dfo_ls.Engine(values.astype(float)), values.astype(float)
    )


@settings(max_examples=40, deadline=None)
@given(arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
def test_shapes(shape: tuple[int, ...]) -> None:
    array = np.ones(shape)
    if len(shape) == 1 and shape[0] > 0:
        assert dfo_ls.minimize(lambda x: array * x[0], array).x.shape == shape
        return
    if shape:
        with pytest.raises((TypeError, ValueError), match="x0"):
            dfo_ls.minimize(lambda x: x, array)
    else:
        # a number is a vector with one entry
        assert dfo_ls.minimize(lambda x: x, array).x.shape == (1,)
    with pytest.raises((TypeError, ValueError), match="returned"):
        dfo_ls.minimize(lambda x: array, [1.0])


@pytest.mark.parametrize(
    "value",
    ["text", ["a"], [1 + 2j], [None], None, [[1], [1, 2]], {"a": 1}, [object()], np.array(["1"])],
)
def test_what_is_no_number(value: Any) -> None:
    with pytest.raises(TypeError, match="x0"):
        dfo_ls.Engine(value)
    with pytest.raises(TypeError, match="returned"):
        dfo_ls.minimize(lambda x: value, [1.0])
    with pytest.raises(TypeError, match="returned"):
        dfo_ls.solve(lambda x: value, [1.0])


@settings(max_examples=30, deadline=None)
@given(
    arrays.arrays(
        np.float64, 3, elements=st.one_of(numbers, st.just(np.nan), st.just(np.inf), st.just(1e300))
    ),
    st.integers(1, 8),
)
def test_useless_residuals_end_no_run(bad: np.ndarray, when: int) -> None:
    """Residuals that are not finite at one point do not prevent the right answer."""
    calls = 0

    def fun(x: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        with np.errstate(over="ignore"):
            useless = not np.isfinite(bad @ bad)
        return bad if calls == when + 1 and useless else np.array([x[0] - 1, x[1] + 2, x[0] + x[1]])

    result = dfo_ls.minimize(fun, [0.0, 0.0])
    assert result.success and np.isfinite(result.residuals).all()
    # the normal equations
    assert result.objective == pytest.approx(1 / 3)


def test_the_number_of_residuals_stays() -> None:
    calls = 0

    def fun(x: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        return np.ones(2 if calls < 3 else 3)

    for run in (dfo_ls.minimize, dfo_ls.solve):
        calls = 0
        with pytest.raises(ValueError, match="3 residuals, but 2 before"):
            run(fun, [1.0])
    with pytest.raises(ValueError, match="2 residuals"):
        dfo_ls.Engine([1.0], num_residuals=5).ask()[0].answer([1.0, 2.0])


@pytest.mark.filterwarnings("ignore:x0 (below|above)")
@settings(max_examples=40, deadline=None)
@given(vectors, st.data())
def test_no_point_leaves_the_box(x0: np.ndarray, data: st.DataObject) -> None:
    width = data.draw(arrays.arrays(np.float64, x0.shape, elements=st.floats(0, 10)))
    width[0] += 0.5
    lower = data.draw(arrays.arrays(np.float64, x0.shape, elements=numbers))
    upper = lower + width
    seen = []

    def fun(x: np.ndarray) -> np.ndarray:
        seen.append(x)
        return np.sin(x) + x**2 / 7

    result = dfo_ls.minimize(fun, x0, bounds=(lower, upper), max_points=30)
    assert all((lower <= x).all() and (x <= upper).all() for x in seen)
    assert (result.x[width == 0] == lower[width == 0]).all()


def test_points_belong_to_the_user() -> None:
    def fun(x: np.ndarray) -> np.ndarray:
        residuals = x - [1.0, 2.0]
        x[:] = np.nan
        return residuals

    start = np.zeros(2)
    for found in (dfo_ls.minimize(fun, start).x, dfo_ls.solve(fun, start).x):
        np.testing.assert_allclose(found, [1, 2], atol=1e-6)
    np.testing.assert_array_equal(start, 0)
