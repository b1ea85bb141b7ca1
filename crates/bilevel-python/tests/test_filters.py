"""Filter banks: learning, patches, denoising, and runs in directories."""

import bilevel
import numpy as np
import pytest


@pytest.fixture(scope="module")
def pictures():
    truth = bilevel.phantoms.dead_leaves(3, (24, 28))
    return truth, bilevel.add_noise(truth, 0.1)


@pytest.fixture(scope="module")
def result(pictures):
    truth, data = pictures
    return bilevel.learn(
        truth,
        data,
        model="filters",
        filters="dct3",
        patches=2,
        patch_size=16,
        validation=(truth[:1], data[:1]),
        max_points=6,
    )


def test_parameters_are_arrays(result):
    assert result.model == "filters"
    assert set(result.params) == {"alpha", "nu", "share", "spread"}
    assert all(value.shape == (8,) for value in result.params.values())
    assert result.gradient is not None
    assert len(result.scores[result.scores["set"] == "training"]) == 6


def test_a_result_denoises_pictures_of_any_size(result):
    truth = bilevel.phantoms.dead_leaves(1, (33, 21), seed=5)[0]
    data = bilevel.add_noise(truth, 0.1)
    denoised = result(data)
    assert denoised.shape == data.shape
    assert bilevel.psnr(denoised, truth) > bilevel.psnr(data, truth) + 1.0


def test_results_survive_files(result, tmp_path):
    path = tmp_path / "bank.json"
    result.save(path)
    loaded = bilevel.load(path)
    data = np.linspace(0.0, 1.0, 100).reshape(10, 10)
    np.testing.assert_array_equal(loaded(data), result(data))


def test_runs_in_directories_are_resumed(pictures, result, tmp_path):
    truth, data = pictures
    out = tmp_path / "run"
    settings = {"model": "filters", "filters": "dct3", "patches": 2, "patch_size": 16}
    held_out = (truth[:1], data[:1])
    first = bilevel.learn(
        truth,
        data,
        **settings,
        validation=held_out,
        max_points=6,
        out=out,
        callback=lambda run: run.num_points >= 3,
    )
    assert first.num_points < 6
    resumed = bilevel.resume(out)
    np.testing.assert_array_equal(resumed.theta, result.theta)
    loaded = bilevel.load(out)
    assert loaded.model == "filters"
    np.testing.assert_array_equal(loaded(data[0]), result(data[0]))
    assert "Gain over total variation" in (out / "report.html").read_text()


def test_patches_are_parts_of_pictures_and_follow_the_seed(pictures):
    truth, data = pictures
    settings = {"learn": ("alpha",), "max_points": 3, "patch_size": 8}
    f = [
        bilevel.learn(truth, data, patches=count, seed=seed, **settings).f
        for count, seed in ((3, 0), (3, 0), (3, 7), (0, 0))
    ]
    assert f[0] == f[1]
    assert len({f[0], f[2], f[3]}) == 3
    # pictures without more than one position for a patch are used whole
    whole = bilevel.learn(truth, data, patches=3, **{**settings, "patch_size": 25}).f
    assert whole == f[3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"learn": ("alpha",)}, "learn cannot be used"),
        ({"fixed": {"nu": 0.1}}, "fixed cannot be used"),
        ({"start": {"alpha": 0.1}}, "start cannot be used"),
        ({"bounds": {"alpha": (0.1, 1.0)}}, "bounds cannot be used"),
        ({"image_range": (0, 1)}, "image_range cannot be used"),
        ({"penalty": {"condition": 1.0}}, "no penalties"),
        ({"solver": "derivative-free"}, "without gradients"),
        ({"accuracy": 100}, "accuracy"),
        ({"filters": "dct4"}, "'dct3'"),
        ({"patches": -1}, "patches"),
        ({"patch_size": 0}, "patch_size"),
        ({"model": "tv", "filters": "dct3"}, "for model='filters'"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(pictures, arguments, message):
    truth, data = pictures
    with pytest.raises(ValueError, match=message):
        bilevel.learn(truth, data, **{"model": "filters", **arguments})


def test_signals_are_refused():
    signals = bilevel.phantoms.box_functions(2, 32)
    with pytest.raises(ValueError, match="is for pictures"):
        bilevel.learn(signals, signals, model="filters")
