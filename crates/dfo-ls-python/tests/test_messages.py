"""Messages about wrong arguments name the argument."""

from __future__ import annotations

import math
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dfo_ls
import numpy as np
import pytest

X0 = np.array([0.5, 0.5])


def fun(x: np.ndarray) -> np.ndarray:
    return x - [3.0, 1.0]


def inexact(work: Any = 1, achieved: Any = 0.0) -> dict[str, Any]:
    return {"inexact": True, "fun": lambda x, accuracy, state: (fun(x), achieved, None, work)}


class Text:
    """A regulariser without a value."""

    def value(self, x: np.ndarray) -> Any:
        return "a"

    def prox(self, x: np.ndarray, t: float) -> np.ndarray:
        return x


@pytest.mark.parametrize(
    ("arguments", "error", "part"),
    [
        ({"max_points": -1}, ValueError, "max_points is -1"),
        ({"max_points": 1.5}, TypeError, "max_points .* 1.5"),
        ({"max_points": "1"}, TypeError, "max_points"),
        ({"max_evaluations": "1"}, TypeError, "max_evaluations"),
        ({"max_work": math.nan}, TypeError, "max_work"),
        ({"batch": 0}, ValueError, "batch"),
        ({"target": math.nan}, ValueError, "target is nan"),
        ({"target": "a"}, TypeError, "target"),
        ({"initial_radius": "a"}, TypeError, "initial_radius"),
        ({"final_radius": math.inf}, ValueError, "final_radius"),
        ({"max_time": "1"}, TypeError, "max_time"),
        ({"max_time": math.nan}, ValueError, "max_time"),
        ({"options": {"model": "Composite"}}, ValueError, "options: 'model'"),
        (
            {"options": {"trust_region": {"eta1": "a"}}},
            ValueError,
            "options: 'trust_region.eta1' must be a number, but is 'a'$",
        ),
        (
            {"options": {"budget": {"max_points": -1}}},
            ValueError,
            "options: 'budget.max_points' must be an integer that is zero or positive, but is -1$",
        ),
        ({"options": {"batch": 1.5}}, ValueError, "'batch' must be an integer .*, but is 1.5$"),
        (
            {"options": {"diagnostics": {"poisedness": None}}},
            ValueError,
            "'diagnostics.poisedness' must be True or False, but is None$",
        ),
        ({"options": {"batch": True}}, ValueError, "'batch' must be an integer .*, but is True$"),
        ({"options": {"batch": [1]}}, ValueError, "'batch' must be an integer .*, but is a list$"),
        (
            {"options": {"model": 3}},
            ValueError,
            "'model' must be a string or a dictionary, but is 3$",
        ),
        (
            {"options": {"scaling": "none"}},
            ValueError,
            "'scaling' must be 'Automatic' or 'Given', but is 'none'$",
        ),
        ({"options": {"budget": {"max_time": "1"}}}, TypeError, "max_time"),
        ({"options": {"budget": 3}}, ValueError, "'budget' must be a dictionary, but is 3$"),
        (inexact(work=1.5), TypeError, "work must be an integer, but is 1.5"),
        (inexact(work=None), TypeError, "work"),
        (inexact(achieved="a"), TypeError, "achieved"),
        ({"projections": fun}, TypeError, "projections must be a list"),
        ({"known": 3}, TypeError, "known"),
        ({"known": [3]}, ValueError, r"known\[0\]"),
        (
            {"known": [(X0, [1, 2]), (X0[:1], [1, 2])]},
            ValueError,
            r"known\[1\]\[0\] has 1 entry, but must have 2",
        ),
        (
            {"known": [(X0, [1, 2]), (X0 + 1, [1])]},
            ValueError,
            r"known\[1\]\[1\] has 1 entry, but must have 2",
        ),
        ({"known": [(X0, [1, 2], "a")]}, TypeError, r"known\[0\]\[2\]"),
        ({"executor": 3}, TypeError, "executor"),
        ({"regularizer": Text()}, TypeError, "regularizer.value returned"),
        (
            {"bounds": [(0, 1)] * 3},
            ValueError,
            "bounds have 3 entries, but x0 has 2: write bounds=",
        ),
        ({"bounds": [(0, 1)]}, ValueError, "bounds have 1 entry, but x0 has 2: write bounds="),
        ({"bounds": ((0, 1), (0, 1))}, ValueError, r"ambiguous .*write bounds=\(lower, upper\)"),
        ({"bounds": [[0, 1], [0, 1]]}, ValueError, r"ambiguous .*bounds=\[\(low, high\), ...\]"),
        ({"bounds": [(0, 1), [0, 1]]}, ValueError, "ambiguous"),
        ({"bounds": ([0, 1], (0, 1))}, ValueError, "ambiguous"),
        ({"bounds": np.array([[0, 1], [0, 1]])}, ValueError, "ambiguous"),
        ({"bounds": "ab"}, TypeError, "bounds cannot be 'ab': write bounds="),
        ({"bounds": {"lb": 0}}, TypeError, "bounds cannot be .*write bounds="),
        ({"bounds": [(0, 1), ("a", 1)]}, TypeError, "lower bounds"),
        ({"bounds": ([0, 1, 2], None)}, ValueError, "lower bounds"),
        ({"bounds": [(1, 0), (0, 1)]}, ValueError, "above its upper bound"),
        ({"args": 3.0}, TypeError, r"args must be a tuple, but is 3.0: write args=\(3.0,\)"),
        ({"args": [1]}, TypeError, "args must be a tuple"),
        ({"workers": 0}, ValueError, "workers is 0"),
        ({"workers": -2}, ValueError, "workers is -2"),
        ({"workers": 1.5}, TypeError, "workers .* 1.5"),
        ({"workers": ThreadPoolExecutor(1)}, TypeError, "did you mean executor="),
        ({"workers": map, "executor": ThreadPoolExecutor(1)}, ValueError, "pass one of them"),
        ({"workers": map, "vectorized": True}, ValueError, "vectorized=True cannot"),
        ({"workers": lambda call, tasks: 3}, TypeError, "workers .* returned 3"),
        ({"workers": lambda call, tasks: [3]}, TypeError, "workers .* one is 3"),
        ({"workers": lambda call, tasks: []}, TypeError, "returned 0 results for 1 points"),
    ],
)
def test_minimize(arguments: dict[str, Any], error: type[Exception], part: str) -> None:
    with pytest.raises(error, match=part):
        dfo_ls.minimize(**{"fun": fun, "x0": X0, **arguments})


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"rhobeg": "a"}, "rhobeg"),
        ({"rhoend": "a"}, "rhoend"),
        ({"npt": "3"}, "npt"),
        ({"npt": 3.0}, "npt"),
        ({"maxfun": "a"}, "maxfun"),
        ({"argsf": 3}, "argsf"),
        ({"projections": fun}, "projections must be a list"),
        ({"h": Text().value, "prox_uh": Text().prox, "lh": "a"}, "lh"),
        ({"h": Text().value, "prox_uh": Text().prox, "lh": 1.0}, "the value that .* returned"),
        ({"h": Text().value, "prox_uh": Text().prox, "lh": 1.0, "argsh": 3}, "argsh"),
        ({"h": Text().value, "prox_uh": Text().prox, "lh": 1.0, "argsprox": 3}, "argsprox"),
    ],
)
def test_solve(arguments: dict[str, Any], part: str) -> None:
    with pytest.raises(TypeError, match=part):
        dfo_ls.solve(**{"objfun": fun, "x0": X0, **arguments})


def test_other_places() -> None:
    with pytest.raises(TypeError, match="weight"):
        dfo_ls.L1("a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="work"):
        dfo_ls.Reject("no", work=1.5)  # type: ignore[arg-type]
    job = dfo_ls.Engine(X0).ask()[0]
    with pytest.raises(TypeError, match="work"):
        job.answer([1.0], work=1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="achieved"):
        job.answer([1.0], achieved="a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="work"):
        job.reject("no", work=None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="num_residuals"):
        dfo_ls.Engine(X0, num_residuals=1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="max_points"):
        dfo_ls.Engine(X0).extend(max_points="a")  # type: ignore[arg-type]


def test_numbers_as_they_are_written() -> None:
    assert dfo_ls.minimize(fun, X0, max_points=4e0).num_points == 4  # type: ignore[arg-type]
    engine = dfo_ls.Engine(X0, options={"budget": {"max_time": 1.5}})
    assert engine.options["budget"]["max_time"] == {"secs": 1, "nanos": 500_000_000}
    # what the engine says is taken, too
    assert (
        dfo_ls.Engine(X0, options={"budget": engine.options["budget"]}).options["budget"]
        == engine.options["budget"]
    )


def test_bounds() -> None:
    class Bounds:
        lb, ub = [0.0, 0.0], [1.0, 2.0]

    np.testing.assert_allclose(dfo_ls.minimize(fun, X0, bounds=Bounds()).x, [1, 1], atol=1e-6)
    with pytest.warns(
        RuntimeWarning, match=r"x0\[0\] is 0.5, outside of its bounds 0.7 and inf"
    ) as caught:
        dfo_ls.minimize(fun, X0, bounds=([0.7, 0.0], None))
    assert caught[0].filename == __file__
    # DFO-LS takes lists
    assert dfo_ls.solve(fun, X0, bounds=[[0.0, 0.0], [1.0, 2.0]]).x == pytest.approx([1, 1])
    # the point is not moved when the box is none
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        crossed = dfo_ls.solve(fun, X0, bounds=([1.0, 2.0], [0.0, 1.0]))
    assert crossed.flag == crossed.EXIT_INPUT_ERROR and "crossed" in crossed.msg
