"""Runs: callbacks, interruptions, exceptions, progress, and models written in Python."""

from __future__ import annotations

import _thread
import re
import signal
import sys
import threading
import traceback
from typing import Any

import bilevel
import numpy as np
import pytest

TRUTH = bilevel.phantoms.box_functions(4, 40, seed=2)
DATA = bilevel.add_noise(TRUTH, 0.1, seed=2)
RANGES: dict[str, Any] = {"start": {"a": 0.0, "n": -1.0}, "bounds": {"a": (-7, 7), "n": (-7, 0)}}


def test_steps_are_those_of_learn() -> None:
    run = bilevel.Run(TRUTH, DATA)
    with pytest.raises(RuntimeError, match="call step first"):
        run.result()
    seen = []
    while run.step():
        seen.append((run.num_points, run.f, run.f_error))
    result = run.result()
    assert result._learned == bilevel.learn(TRUTH, DATA)._learned
    assert (result.f, result.params, result.num_points, result.work) == (
        run.f,
        run.params,
        run.num_points,
        run.work,
    )
    assert run.result() is result and not run.step()
    assert [row[0] for row in seen] == sorted(row[0] for row in seen) and seen[-1][1] < seen[0][1]


def test_the_callback_sees_and_ends_the_run() -> None:
    seen: list[bilevel.Run] = []

    def callback(run: bilevel.Run) -> bool:
        seen.append(run)
        return run.num_points >= 8

    result = bilevel.learn(TRUTH, DATA, callback=callback)
    assert result.termination == "stopped" and not result.converged
    assert result.num_points == seen[-1].num_points == 8
    assert "NOT CONVERGED, the run was ended early" in repr(result)


@pytest.mark.usefixtures("ctrl_c")
def test_interrupted_runs_give_what_they_have() -> None:
    def callback(run: bilevel.Run) -> None:
        if run.num_points >= 6:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(RuntimeWarning, match="interrupted after 6 points"):
        result = bilevel.learn(TRUTH, DATA, callback=callback)
    assert result.termination == "interrupted" and result.num_points == 6
    assert not result.converged and np.isfinite(result.f)


@pytest.mark.usefixtures("ctrl_c")
def test_interrupted_while_rust_works() -> None:
    truth = bilevel.phantoms.dead_leaves(4, (64, 64))
    timers: list[threading.Timer] = []

    def callback(run: bilevel.Run) -> None:
        if not timers:
            timers.append(threading.Timer(0.01, _thread.interrupt_main))
            timers[0].start()

    options: dict[str, Any] = {"learn": ("alpha",), "accuracy": 2000, "method": "fista"}
    with pytest.warns(RuntimeWarning, match="interrupted"):
        result = bilevel.learn(truth, bilevel.add_noise(truth, 0.1), callback=callback, **options)
    assert result.termination == "interrupted" and result.num_points < 10


def test_interrupted_while_all_is_summed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    finish = bilevel._family_run.FamilyRun.finish
    calls = []

    def interrupted(core: Any) -> Any:
        calls.append(finish(core))
        if len(calls) == 1:
            raise KeyboardInterrupt
        return calls[-1]

    monkeypatch.setattr(bilevel._family_run.FamilyRun, "finish", interrupted)
    assert bilevel.learn(TRUTH, DATA, max_points=6).num_points == 6 and calls[0] == calls[1]


@pytest.mark.parametrize("steps", [1, 4])
def test_interrupted_between_a_step_and_a_look_at_it(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = bilevel._family_run.FamilyRun.progress
    calls: list[int] = []

    def interrupted(core: Any) -> Any:
        calls.append(0)
        if len(calls) == steps:
            raise KeyboardInterrupt
        return progress(core)

    monkeypatch.setattr(bilevel._family_run.FamilyRun, "progress", interrupted)
    with pytest.warns(RuntimeWarning, match="interrupted after") as caught:
        result = bilevel.learn(TRUTH, DATA)
    assert str(caught[0].message).startswith(f"interrupted after {result.num_points} point")
    # the same number of steps without an interruption
    run = bilevel.Run(TRUTH, DATA)
    for _ in range(steps):
        run.step()
    assert (run.num_points, run.f) == (result.num_points, result.f)


def test_an_exception_between_a_step_and_a_look_at_it(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = bilevel._family_run.FamilyRun.progress
    calls: list[int] = []

    def fails(core: Any) -> Any:
        calls.append(0)
        if len(calls) == 1:
            raise MemoryError
        return progress(core)

    monkeypatch.setattr(bilevel._family_run.FamilyRun, "progress", fails)
    with pytest.raises(MemoryError) as caught:
        bilevel.learn(TRUTH, DATA)
    run = getattr(caught.value, "run")
    assert run.num_points == run.result().num_points >= 1 and run.theta is not None


def test_the_callback_may_raise_stop_iteration() -> None:
    def callback(run: bilevel.Run) -> None:
        if run.num_points >= 5:
            raise StopIteration

    result = bilevel.learn(TRUTH, DATA, callback=callback)
    assert result.termination == "stopped" and result.num_points == 5


def test_interrupted_before_anything_is_known() -> None:
    def model(theta: Any, accuracy: Any, state: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bilevel.learn(TRUTH, None, model=model, **RANGES)


def fails_in_callback() -> None:
    def callback(run: bilevel.Run) -> None:
        if run.num_points >= 5:
            raise LookupError("in the callback")

    bilevel.learn(TRUTH, DATA, callback=callback)


def fails_in_model() -> None:
    calls = []

    def model(theta: Any, accuracy: Any, state: Any) -> Any:
        calls.append(theta)
        if len(calls) > 5:
            raise LookupError("in the model")
        return smooth(theta, accuracy, state)

    bilevel.learn(TRUTH, None, model=model, **RANGES)


@pytest.mark.parametrize("fails", [fails_in_callback, fails_in_model])
def test_exceptions_keep_their_traceback_and_the_run(fails: Any) -> None:
    with pytest.raises(LookupError) as caught:
        fails()
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-1] in ("callback", "model") and "learn" in names
    run = getattr(caught.value, "run")
    assert np.isfinite(run.result().f) and run.result().num_points == run.num_points >= 3
    if sys.version_info >= (3, 11):
        assert "error.run.result()" in caught.value.__notes__[0]


def smooth(theta: Any, accuracy: Any, state: Any) -> Any:
    """Denoising as a model written in Python."""
    made = [
        bilevel.denoise_tv(y, 10 ** theta[0], 10 ** theta[1], 1e-3, min(a, 1e3))
        for y, a in zip(DATA, accuracy)
    ]
    return (
        [m.x for m in made],
        [m.error_bound for m in made],
        "state",
        sum(m.iterations for m in made),
    )


@pytest.mark.parametrize("objective", ["mean", "sum"])
@pytest.mark.parametrize("residuals", ["image", "pixel"])
def test_a_model_in_python_learns_the_same(objective: str, residuals: str) -> None:
    options = {"objective": objective, "residuals": residuals}
    ours = bilevel.learn(TRUTH, DATA, learn=("alpha", "nu"), fixed={"xi": 1e-3}, **options)
    theirs = bilevel.learn(TRUTH, DATA, model=smooth, **RANGES, **options)
    assert theirs.params == {"a": theirs.theta[0], "n": theirs.theta[1]}
    # both may stop a little before the optimum
    assert abs(ours.f - theirs.f) <= ours.f_error + theirs.f_error + 1e-3 * ours.f
    exact = sum(
        ((smooth(theirs.theta, [1e-9] * 4, None)[0][i] - TRUTH[i]) ** 2).sum() for i in range(4)
    )
    assert abs(exact / (4 if objective == "mean" else 1) - theirs.f) <= theirs.f_error * (1 + 1e-6)
    assert theirs.work > 0 and theirs.scores.empty and theirs.model == "python"
    with pytest.raises(TypeError, match="computes its own reconstructions"):
        theirs.apply(DATA)


def test_the_protocol_of_a_model() -> None:
    asked: list[Any] = []
    known: dict[Any, tuple[float, ...]] = {}

    def model(theta: Any, accuracy: Any, state: Any) -> Any:
        assert accuracy.shape == (2,) and (accuracy >= 0).all() and theta.shape == (1,)
        assert state is None or state in known
        asked.append((tuple(theta), tuple(accuracy), state))
        if theta[0] > 2.5:
            raise bilevel.Reject("too large")
        token = f"state {len(asked)}"
        known[token] = tuple(theta)
        # equal to the truth at theta = 1, and exact, so that every accuracy is reached
        return [theta[0] * np.ones(3), theta[0] * np.ones((5,), np.float32)], 0.0, token

    result = bilevel.learn(
        [np.ones(3), np.ones(5)], None, model=model, start=[2.0], bounds=[(0.0, 4.0)]
    )
    assert result.theta[0] == pytest.approx(1.0, abs=1e-3) and list(result.params) == ["theta0"]
    assert asked[0][2] is None and asked[1][2] is not None
    # the accuracy is shared out by the sizes of images
    assert asked[1][1][1] / asked[1][1][0] == pytest.approx((5 / 3) ** 0.5)
    penalised = bilevel.learn(
        [np.ones(3), np.ones(5)],
        None,
        model=model,
        start=[2.0],
        bounds=[(0.0, 4.0)],
        penalty={"l1": 2.0},
    )
    # the mean is 4 (theta - 1)², so 8 (theta - 1) + 2 = 0
    assert penalised.theta[0] == pytest.approx(0.75, abs=1e-3)
    assert penalised.f == pytest.approx(4 * 0.25**2 + 2 * 0.75, abs=1e-5)


def test_parameters_of_functions_are_blocks() -> None:
    goal = np.array([[0.5, 1.5], [2.0, 0.25]])

    def model(theta: Any, accuracy: Any, state: Any) -> Any:
        return [theta[0] * theta[1:]], 0.0, None

    options: dict[str, Any] = {
        "start": {"scale": 1.0, "taps": np.ones((2, 2))},
        "bounds": {"scale": (1.0, 1.5), "taps": (0.0, 2.0)},
    }
    result = bilevel.learn([goal.reshape(-1)], None, model=model, **options)
    taps = result.params["taps"]
    assert taps.shape == (2, 2) and isinstance(result.params["scale"], float)
    np.testing.assert_allclose(result.params["scale"] * taps, goal, atol=1e-3)
    assert len(result.theta) == 5 and result.theta[2] == taps[0, 1]
    assert "taps = 2 x 2 numbers from " in repr(result)
    assert "taps[1, 0]" in result.history and result.plot() is not None

    alone = bilevel.learn(
        [np.ones(3)], None, model=lambda t, a, s: ([t], 0.0, None), start=[0.5] * 3, bounds=(0, 2)
    )
    assert list(alone.params) == ["theta"] and alone.params["theta"].shape == (3,)
    options["start"]["taps"] = np.array([[1.0, 3.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match=r"start\['taps'\]\[0, 1\] is 3.0, outside"):
        bilevel.learn([goal.reshape(-1)], None, model=model, **options)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (None, "must return"),
        (([np.zeros(40)], 0.0, None), "truth has 4 images, but the model's result has 1"),
        ((np.zeros((4, 39)), 0.0, None), "shape"),
        ((np.zeros((4, 40), complex), 0.0, None), "complex"),
        ((TRUTH, -1.0, None), "error is -1.0"),
        ((TRUTH, np.nan, None), "error is nan"),
        (
            (TRUTH, "a", None),
            "the model's error must be one number, or one for each image, not 'a'",
        ),
        ((TRUTH, [0.0, 0.0], None), "error has shape"),
        ((TRUTH, 0.0, None, -1), "work is -1"),
    ],
)
def test_bad_replies_are_named(reply: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        bilevel.learn(TRUTH, None, model=lambda *_: reply, **RANGES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": None}, "needs start and bounds"),
        ({"start": 1.0}, "start must be a dictionary or a sequence of numbers, not 1.0"),
        ({"learn": 3}, "learn must be a sequence of names, not 3"),
        ({"fixed": [1, 2]}, "fixed must be a dictionary"),
        ({"callback": 3}, "callback must be a function"),
        ({"bounds": {"a": (0, 1)}}, "bounds lacks 'n'"),
        ({"learn": ("a", "b")}, "start names 'n'"),
        ({"start": {"a": 8.0, "n": -1.0}}, r"start\['a'\] is 8.0"),
        ({"penalty": {"condition": 1.0}}, r"penalty\['condition'\]"),
        ({"threads": 2}, "threads has no meaning"),
        ({"accuracy": 10}, "accuracy has no meaning"),
        ({"fixed": {"xi": 1.0}}, "fixed has no meaning"),
    ],
)
def test_bad_arguments_of_a_model_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        bilevel.learn(TRUTH, None, model=smooth, **{**RANGES, **change})


@pytest.mark.parametrize(("error", "converged"), [(0.2, False), (1e-6, True)])
def test_an_accuracy_that_does_not_suffice_is_explained(error: float, converged: bool) -> None:
    def model(theta: Any, accuracy: Any, state: Any) -> Any:
        # the error is as large as its bound says, and never smaller
        wrong = error * np.cos(1e3 * theta[0]) / 10
        return [np.full(8, theta[0] ** 2) + wrong], error, None

    result = bilevel.learn([np.arange(8.0)], None, model=model, start=[3.0], bounds=[(0.0, 4.0)])
    assert result.termination == "accuracy_floor" and result.converged == converged
    # the printed interval contains the certified one
    written = re.search(r": f is (\S+) ± ([^;,\s]+)[;,]", repr(result))
    assert written is not None
    shown, bound = map(float, written.groups())
    assert abs(shown - result.f) + result.f_error <= bound <= 2.1 * result.f_error + 1e-5 * shown
    assert (
        "better parameters cannot be told apart"
        if converged
        else "let the model reach the requested accuracy"
    ) in result.message


def test_advice_where_reconstructions_are_not_accurate_enough() -> None:
    ranges: dict[str, Any] = {"start": {"xi": 1e-3}, "bounds": {"xi": (1e-3, 1.0)}}
    for learn, more, advice in (
        (("xi",), ranges, "raise the lower bound of xi or fix xi"),
        (("alpha",), {}, "choose a larger xi or nu"),
    ):
        run = bilevel.Run(TRUTH, DATA, learn=learn, **more, accuracy=3, method="gd", max_points=6)
        run.step()
        run._end("accuracy_floor")
        assert not run.result().converged and advice in repr(run.result())


def test_where_nothing_can_be_evaluated() -> None:
    def model(theta: Any, accuracy: Any, state: Any) -> Any:
        raise bilevel.Reject("out of order")

    with pytest.raises(RuntimeError, match="no reconstruction could be computed.*out of order"):
        bilevel.learn(TRUTH, None, model=model, **RANGES)
    with pytest.raises(RuntimeError, match="no reconstruction could be computed"):
        bilevel.learn(TRUTH, None, model=lambda *_: (np.full((4, 40), np.nan), 0.0, None), **RANGES)


def test_progress_is_shown_where_it_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    bilevel.learn(TRUTH, DATA, max_points=6)
    assert capsys.readouterr().err == ""
    bilevel.learn(TRUTH, DATA, max_points=6, progress=True)
    shown = capsys.readouterr().err
    assert "6/6" in shown and "f = " in shown


def test_without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tqdm", "tqdm.auto", "pandas", "matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    result = bilevel.learn(TRUTH, DATA, max_points=6)
    for attempt in (
        lambda: result.history,
        result.plot,
        lambda: bilevel.learn(TRUTH, DATA, progress=True),
    ):
        with pytest.raises(ImportError, match="pip install"):
            attempt()
