"""Every documented key of ``user_params``: honoured, accepted at its default only, or refused."""

from __future__ import annotations

from typing import Any

import dfo_ls as dfols
import numpy as np
import pytest
from dfo_ls import _params, _solve

X0 = np.array([-1.2, 1.0])


def rosenbrock(x: np.ndarray) -> np.ndarray:
    return np.array([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])


#: From the user guide of DFO-LS 1.6: every key.
DOCUMENTED = """
general.rounding_error_constant general.safety_step_thresh general.check_objfun_for_overflow
logging.n_to_print_whole_x_vector logging.save_diagnostic_info logging.save_poisedness
logging.save_xk logging.save_rk
init.random_initial_directions init.random_directions_make_orthogonal init.run_in_parallel
tr_radius.eta1 tr_radius.eta2 tr_radius.gamma_dec tr_radius.gamma_inc tr_radius.gamma_inc_overline
tr_radius.alpha1 tr_radius.alpha2
model.abs_tol model.rel_tol slow.history_for_slow slow.thresh_for_slow slow.max_slow_iters
noise.quit_on_noise_level noise.scale_factor_for_quit noise.multiplicative_noise_level
noise.additive_noise_level
interpolation.precondition interpolation.throw_error_on_nans
regression.num_extra_steps regression.increase_num_extra_steps_with_restart
regression.momentum_extra_steps
restarts.use_restarts restarts.throw_error_on_nans restarts.max_unsuccessful_restarts
restarts.rhoend_scale restarts.use_soft_restarts
restarts.soft.num_geom_steps restarts.soft.move_xk restarts.increase_npt restarts.increase_npt_amt
restarts.hard.increase_ndirs_initial_amt restarts.hard.use_old_rk restarts.max_npt
restarts.soft.max_fake_successful_steps
restarts.auto_detect restarts.auto_detect.history restarts.auto_detect.min_chgJ_slope
restarts.auto_detect.min_correl
growing.ndirs_initial growing.full_rank.use_full_rank_interp growing.perturb_trust_region_step
growing.delta_scale_new_dirns
growing.full_rank.scale_factor growing.full_rank.svd_scale_factor growing.full_rank.min_sing_val
growing.full_rank.svd_max_jac_cond
growing.do_geom_steps growing.safety.do_safety_step growing.safety.reduce_delta
growing.safety.full_geom_step
growing.reset_delta growing.reset_rho growing.gamma_dec growing.num_new_dirns_each_iter
dykstra.d_tol dykstra.max_iters matrix_rank.r_tol
func_tol.criticality_measure func_tol.tr_step func_tol.max_iters sfista.max_iters_scaling
""".split()

#: A value that is not the default, and the option of the engine that must then have it.
HONOURED: dict[str, tuple[Any, str, Any]] = {
    "general.safety_step_thresh": (0.4, "trust_region.safety", 0.4),
    "tr_radius.eta1": (0.05, "trust_region.eta1", 0.05),
    "tr_radius.eta2": (0.8, "trust_region.eta2", 0.8),
    "tr_radius.gamma_dec": (0.6, "trust_region.gamma_dec", 0.6),
    "tr_radius.gamma_inc": (2.5, "trust_region.gamma_inc", 2.5),
    "tr_radius.gamma_inc_overline": (5.0, "trust_region.gamma_inc_step", 5.0),
    "tr_radius.alpha1": (0.2, "trust_region.alpha1", 0.2),
    "tr_radius.alpha2": (0.6, "trust_region.alpha2", 0.6),
    "slow.history_for_slow": (7, "slow.history", 7),
    "slow.thresh_for_slow": (1e-3, "slow.rate", 1e-3),
    "slow.max_slow_iters": (9, "slow.patience", 5),
    "model.abs_tol": (1e-3, "target", 1e-3),
    "growing.ndirs_initial": (1, "initial.num_directions", 1),
    "restarts.use_restarts": (True, "restarts.max_unsuccessful", 10),
}


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[dfols.Engine]:
    """The engines that ``solve`` makes."""
    made: list[dfols.Engine] = []

    class Spy(dfols.Engine):
        def __init__(self, *args: Any, **keywords: Any) -> None:
            super().__init__(*args, **keywords)
            made.append(self)

    monkeypatch.setattr(_solve, "Engine", Spy)
    return made


def option(engine: dfols.Engine, path: str) -> Any:
    found: Any = engine.options
    for key in path.split("."):
        found = found[key]
    return found


def test_no_key_is_forgotten() -> None:
    groups = (_params.OPTIONS, _params.VALUES, _params.UNUSED, _params.FIXED, _params.DERIVED)
    assert sorted(key for group in groups for key in group) == sorted(DOCUMENTED)
    assert _params.KEYS == frozenset(DOCUMENTED)


@pytest.mark.parametrize("noisy", [False, True])
def test_none_means_the_default(noisy: bool, engines: list[dfols.Engine]) -> None:
    """One by one and all together, as optimagic passes them."""

    def run(user_params: dict[str, Any] | None) -> Any:
        return dfols.solve(
            rosenbrock, X0, maxfun=40, user_params=user_params, objfun_has_noise=noisy
        )

    straight = run(None)
    for params in (*({key: None} for key in DOCUMENTED), dict.fromkeys(DOCUMENTED)):
        soln = run(params)
        assert (soln.obj, soln.nf, soln.msg) == (straight.obj, straight.nf, straight.msg), params
        assert engines[-1].options == engines[0].options, params
    with pytest.raises(ValueError, match="'tr_radius.eta3'"):
        run({"tr_radius.eta3": None})


def test_keys_that_nothing_depends_on() -> None:
    for key, value in (
        ("restarts.increase_npt_amt", 0),
        ("restarts.hard.increase_ndirs_initial_amt", 3),
        ("restarts.hard.use_old_rk", False),
    ):
        assert dfols.solve(rosenbrock, X0, user_params={key: value}).flag == 0
        soln = dfols.solve(rosenbrock, X0, user_params={key: -1})
        assert soln.flag == soln.EXIT_INPUT_ERROR and key in soln.msg


@pytest.mark.parametrize("key", HONOURED)
def test_options_reach_the_engine(key: str, engines: list[dfols.Engine]) -> None:
    value, path, expected = HONOURED[key]
    soln = dfols.solve(rosenbrock, X0, maxfun=40, user_params={key: value})
    assert soln.flag in (soln.EXIT_SUCCESS, soln.EXIT_MAXFUN_WARNING), soln.msg
    assert option(engines[0], path) == expected


def test_defaults_are_as_documented(engines: list[dfols.Engine]) -> None:
    dfols.solve(rosenbrock, X0, maxfun=5)
    documented = {
        "eta1": 0.1,
        "eta2": 0.7,
        "gamma_dec": 0.5,
        "gamma_inc": 2.0,
        "gamma_inc_step": 4.0,
        "alpha1": 0.1,
        "alpha2": 0.5,
    }
    # radii in units of 1.2, the largest entry of the start: 0.12 and 1e-8
    radii = {"initial_radius": 0.1, "final_radius": 1e-8 / 1.2}
    for key, value in {**documented, "safety": 0.5, **radii}.items():
        assert option(engines[0], f"trust_region.{key}") == pytest.approx(value)
    assert option(engines[0], "slow") == {"rate": 1e-4, "history": 5, "patience": 20}
    assert option(engines[0], "restarts") is None and option(engines[0], "target") == 1e-12
    dfols.solve(rosenbrock, X0, maxfun=5, objfun_has_noise=True)
    assert option(engines[1], "restarts") == {
        "max_unsuccessful": 10,
        "num_moved": 3,
        "automatic": True,
    }


def test_restarts(engines: list[dfols.Engine]) -> None:
    params = {
        "restarts.use_restarts": True,
        "restarts.max_unsuccessful_restarts": 2,
        "restarts.soft.num_geom_steps": 1,
        "restarts.auto_detect": False,
    }
    soln = dfols.solve(lambda x: np.append(rosenbrock(x), 1.0), X0, user_params=params)
    assert option(engines[0], "restarts") == {
        "max_unsuccessful": 2,
        "num_moved": 1,
        "automatic": False,
    }
    assert (
        soln.nruns == 3 and soln.msg == "Success: Reached maximum number of unsuccessful restarts"
    )


def test_tolerances() -> None:
    loose = dfols.solve(rosenbrock, X0, user_params={"model.rel_tol": 1e-2})
    assert loose.flag == loose.EXIT_SUCCESS and 1e-12 < loose.obj <= 1e-2 * 24.2
    assert loose.msg == "Success: Objective is sufficiently small"
    assert loose.nf < dfols.solve(rosenbrock, X0, user_params={"model.abs_tol": 1e-20}).nf


def test_noise_levels(engines: list[dfols.Engine]) -> None:
    def run(**params: Any) -> Any:
        return dfols.solve(
            rosenbrock,
            X0,
            npt=3,
            user_params={f"noise.{key}": value for key, value in params.items()},
        )

    soln = run(quit_on_noise_level=True, additive_noise_level=2.0, scale_factor_for_quit=2.0)
    assert option(engines[0], "noise.level") == {"Additive": 4.0}
    assert soln.msg == "Success: All points within noise level"
    run(quit_on_noise_level=True, multiplicative_noise_level=0.5)
    assert option(engines[1], "noise.level") == {"Multiplicative": 0.5}
    run(additive_noise_level=1.0)
    assert option(engines[2], "noise.level") is None
    both = run(additive_noise_level=1.0, multiplicative_noise_level=1.0)
    assert both.flag == both.EXIT_INPUT_ERROR


def test_random_directions_follow_numpy() -> None:
    def seconds(seed: int) -> list[float]:
        seen: list[Any] = []
        np.random.seed(seed)
        dfols.solve(
            lambda x: seen.append(x) or rosenbrock(x),
            X0,
            maxfun=5,
            user_params={"init.random_initial_directions": True},
        )
        return list(seen[1])

    assert seconds(1) == seconds(1) != seconds(2)
    assert min(abs(np.array(seconds(1)) - X0)) > 0


def test_what_is_printed(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="dfo_ls"):
        dfols.solve(rosenbrock, X0, maxfun=5, user_params={"logging.n_to_print_whole_x_vector": 1})
    assert caplog.messages[0].endswith("at x = [...]")


@pytest.mark.parametrize("key", _params.FIXED)
def test_fixed_keys(key: str) -> None:
    default = _params.FIXED[key]
    assert dfols.solve(rosenbrock, X0, user_params={key: default}).flag == 0
    other = (not default) if isinstance(default, bool) else 2 * default + 1
    with pytest.raises(ValueError, match=f"'{key}'"):
        dfols.solve(rosenbrock, X0, user_params={key: other})


def test_derived_keys() -> None:
    same = {"restarts.max_npt": 3, "restarts.soft.max_fake_successful_steps": 300}
    assert dfols.solve(rosenbrock, X0, user_params=same).flag == 0
    assert (
        dfols.solve(
            rosenbrock, X0, user_params={"tr_radius.gamma_dec": 0.6, "growing.gamma_dec": 0.6}
        ).flag
        == 0
    )
    for key in _params.DERIVED:
        with pytest.raises(ValueError, match=f"'{key}'"):
            dfols.solve(rosenbrock, X0, user_params={key: 7})


def test_keys_that_change_nothing_or_a_table() -> None:
    params = {
        "init.run_in_parallel": True,
        "logging.save_diagnostic_info": True,
        "logging.save_poisedness": False,
    }
    soln = dfols.solve(rosenbrock, X0, user_params=params)
    assert soln.flag == 0 and soln.diagnostic_info["poisedness"].isna().all()


def test_unknown_keys() -> None:
    with pytest.raises(ValueError, match="'tr_radius.eta3'"):
        dfols.solve(rosenbrock, X0, user_params={"tr_radius.eta3": 0.1})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tr_radius.eta1", -1.0),
        ("tr_radius.eta1", "a"),
        ("tr_radius.eta1", float("nan")),
        ("tr_radius.gamma_inc", 1.0),
        ("logging.save_xk", 1),
        ("slow.history_for_slow", 2.5),
        ("growing.ndirs_initial", 3),
        ("noise.additive_noise_level", -1.0),
        ("tr_radius.eta2", 0.05),
    ],
)
def test_values_out_of_range_are_flags(key: str, value: Any) -> None:
    soln = dfols.solve(rosenbrock, X0, user_params={key: value})
    assert soln.flag == soln.EXIT_INPUT_ERROR and key in soln.msg
