"""Results: tables, files, plots and texts; and the examples of the documentation."""

from __future__ import annotations

import doctest
import importlib
import json
import pickle
import pkgutil
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import bilevel
import numpy as np
import pytest
from numpy.typing import NDArray

HERE = Path(__file__).parents[1]
TRUTH = bilevel.phantoms.dead_leaves(3, (16, 16), seed=5)
DATA = bilevel.add_noise(TRUTH, 0.1, seed=5)


@pytest.fixture(scope="module")
def result() -> bilevel.Result:
    return bilevel.learn(TRUTH, DATA, validation=(TRUTH[:1], DATA[:1]))


@pytest.mark.parametrize(
    "truth",
    [bilevel.phantoms.dead_leaves(2, (24, 20)), bilevel.phantoms.box_functions(2, 64)],
    ids=["pictures", "signals"],
)
def test_reconstructions_that_are_no_better_are_warned_of(truth: NDArray[Any]) -> None:
    data = bilevel.add_noise(truth, 0.1)
    swapped = bilevel.learn(data, truth)
    part = r"reconstruction hardly changes the mean PSNR of training images, from \d+\.\d\d dB to"
    assert any(re.match(part, warning) for warning in swapped.warnings), swapped
    assert "pass truth first" in str(swapped)
    assert not any("PSNR" in warning for warning in bilevel.learn(truth, data).warnings)
    smooth = {"learn": ("alpha",), "bounds": {"alpha": (10.0, 20.0)}, "start": {"alpha": 15.0}}
    worse = bilevel.learn(truth, data, max_points=1, **smooth)
    assert any(re.search("lowers the mean PSNR .* from", warning) for warning in worse.warnings)


def test_tables(result: bilevel.Result) -> None:
    table = result.history
    assert {"point", "alpha", "nu", "xi", "f", "target", "achieved", "work"} <= set(table.columns)
    assert table["work"].sum() == result.work == table["total_work"].iloc[-1]
    assert table["point"].nunique() == result.num_points
    # the best is one of them
    rows = table[(table[list(result.params)] == list(result.params.values())).all(axis=1)]
    assert result.f in set(rows["f"])
    assert (table["achieved"] <= table["target"]).all()
    assert (result.iterations["f_lower"] <= result.iterations["f_upper"]).all()
    scores = result.scores
    assert list(scores["set"]) == ["training"] * 3 + ["validation"]
    made = result.apply(DATA)
    for index in range(3):
        assert scores["psnr_before"][index] == pytest.approx(
            bilevel.psnr(DATA[index], TRUTH[index])
        )
        assert scores["psnr_after"][index] == pytest.approx(
            bilevel.psnr(made[index], TRUTH[index]), abs=0.02
        )


def test_apply_takes_what_learn_took(result: bilevel.Result) -> None:
    values = {**result.params, **result.fixed}
    y = np.random.default_rng(1).random((11, 7))
    exact = bilevel.denoise_tv(y, **values, accuracy=1e-8).x
    assert np.linalg.norm(result.apply(y) - exact) <= 1e-3 * 77**0.5
    assert np.linalg.norm(result.apply(y, accuracy=1e-6) - exact) <= 1.1e-6 * 77**0.5
    assert result.apply(DATA).tobytes() == np.stack(result.apply(list(DATA))).tobytes()
    with pytest.raises(ValueError, match=r"data has shape \(5,\)"):
        result.apply(np.zeros(5))
    with pytest.raises(ValueError, match=r"data\[1\] is NaN everywhere"):
        result.apply([y, y * np.nan])
    with pytest.warns(RuntimeWarning, match="not reached"):
        result.apply(y, accuracy=0.0)


def test_a_result_is_a_denoiser(result: bilevel.Result) -> None:
    def calibrated(denoise: Any, image: Any, grid: dict[str, list[float]]) -> Any:
        """Choose keyword arguments as scikit-image's `calibrate_denoiser` does."""
        (name, values), *_ = grid.items()
        tried = [denoise(image.copy(), **{name: value}) for value in values]
        losses = [float(((x - image) ** 2).mean()) for x in tried]
        return tried[int(np.argmin(losses))]

    best = calibrated(result, DATA[0], {"accuracy": [1e-1, 1e-4]})
    assert type(best) is np.ndarray and best.shape == DATA[0].shape
    assert result(DATA[0]).tobytes() == result.apply(DATA[0]).tobytes()
    with pytest.warns(RuntimeWarning, match="not reached"):
        result(DATA[0], 0.0, max_iterations=3)


def test_save_and_load_keep_every_bit(result: bilevel.Result, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    result.save(path)
    for other in (
        bilevel.load(path),
        bilevel.Result.load(str(path)),
        pickle.loads(pickle.dumps(result)),
    ):
        assert other._learned == result._learned and repr(other) == repr(result)
        assert other.theta.tobytes() == result.theta.tobytes() and other.f_error == result.f_error
        assert other.apply(DATA[0]).tobytes() == result.apply(DATA[0]).tobytes()
        assert other.history.equals(result.history)


def test_a_missing_folder_is_named(result: bilevel.Result, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder .*missing: create it"):
        result.save(tmp_path / "missing" / "result.json")


@pytest.mark.parametrize("model", ["deblur", "inpaint"])
def test_operators_are_saved_too(model: str, tmp_path: Path) -> None:
    mask = np.arange(256).reshape(16, 16) % 3 > 0
    more: dict[str, Any] = (
        {"kernel": np.full((3, 3), 1 / 9)} if model == "deblur" else {"mask": mask}
    )
    result = bilevel.learn(TRUTH, DATA, model=model, max_points=6, **more)
    result.save(tmp_path / "result.json")
    assert (
        bilevel.load(tmp_path / "result.json").apply(DATA).tobytes() == result.apply(DATA).tobytes()
    )


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "other"}', "\u00ff"])
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match="does not hold a result"):
        bilevel.load(path)


def test_files_of_other_versions_are_refused(result: bilevel.Result, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    result.save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 99}))
    with pytest.raises(ValueError, match="another version"):
        bilevel.load(path)


def test_it_can_be_read_and_drawn(result: bilevel.Result) -> None:
    shown = repr(result)
    assert (
        shown.startswith("bilevel.Result: converged")
        and f"alpha = {result.params['alpha']:.4g}" in shown
    )
    assert "<td>" in result._repr_html_() and "hardly matters" in shown
    figure = result.plot()
    left, right = figure.axes
    best = next(line for line in left.lines if line.get_label() == "best")
    assert np.asarray(best.get_ydata())[-1] == result.f
    assert [line.get_label() for line in right.lines[::2]] == [
        f"{k} = {v:.3g}" for k, v in result.params.items()
    ]


@pytest.mark.parametrize(
    "module",
    ["bilevel", *(f"bilevel.{module.name}" for module in pkgutil.iter_modules(bilevel.__path__))],
)
def test_docstrings(module: str) -> None:
    loaded = importlib.import_module(module)
    failed, tried = doctest.testmod(loaded)
    assert failed == 0
    public = [getattr(loaded, name) for name in getattr(loaded, "__all__", [])]
    for item in public:
        if (
            callable(item)
            and item not in (bilevel.Denoised, bilevel.Reject)
            and not module.endswith("._bilevel")
        ):
            assert ">>>" in (item.__doc__ or ""), f"{item} has no example"


def test_readme() -> None:
    failed, tried = doctest.testfile(str(HERE / "README.md"), module_relative=False)
    assert failed == 0 and tried > 8


EXAMPLES = sorted((HERE / "examples").glob("*.py"))


# `test_mpi.py` runs examples with MPI
@pytest.mark.parametrize(
    "path",
    [path for path in EXAMPLES if not path.stem.startswith("mpi")],
    ids=lambda path: path.stem,
)
def test_examples(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")


def test_examples_are_typed() -> None:
    pytest.importorskip("mypy")
    files = [str(path) for path in EXAMPLES]
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("learn", [("alpha",), ("alpha", "xi")])
def test_files_of_version_1_can_be_applied(learn: tuple[str, ...], tmp_path: Path) -> None:
    truth = bilevel.phantoms.box_functions(2, 16)
    data = bilevel.add_noise(truth, 0.1)
    result = bilevel.learn(truth, data, learn=learn, max_points=6)
    path = tmp_path / "result.json"
    result.save(path)
    saved = json.loads(path.read_text())
    old = {
        name: {"learned": {}} if name in learn else {"fixed": result.fixed[name]}
        for name in ("alpha", "nu", "xi")
    }
    saved["version"], saved["about"]["family"] = 1, {"model": "tv", **old}
    path.write_text(json.dumps(saved))
    assert np.array_equal(bilevel.load(path).apply(data), result.apply(data))
