"""The keys of DFO-LS's ``user_params``, and their meaning for this solver."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


class InputError(Exception):
    """An argument for which DFO-LS returns the flag ``EXIT_INPUT_ERROR``."""


@dataclass
class Params:
    """The values of all keys."""

    #: Options of the solver, by their path.
    options: dict[str, Any] = field(default_factory=dict)
    #: Values of the keys that ``solve`` reads itself.
    values: dict[str, Any] = field(default_factory=dict)


def _is_real(value: Any) -> bool:
    return (
        isinstance(value, numbers.Real)
        and not isinstance(value, bool)
        and not math.isnan(float(value))
    )


def _is_share(value: Any) -> bool:
    return _is_real(value) and 0 < value < 1


def _is_above_one(value: Any) -> bool:
    return _is_real(value) and 1 < value < math.inf


def _is_size(value: Any) -> bool:
    return _is_real(value) and 0 <= value < math.inf


def _is_level(value: Any) -> bool:
    return value is None or _is_size(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= 1


def _is_amount(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= 0


def _is_flag(value: Any) -> bool:
    # numpy.bool_ is no bool
    return type(value).__name__ in ("bool", "bool_")


_Check = Callable[[Any], bool]

#: Keys that are options of the solver: a check of the value, and the path of the option.
OPTIONS: dict[str, tuple[_Check, str]] = {
    "general.safety_step_thresh": (_is_share, "trust_region.safety"),
    "tr_radius.eta1": (_is_share, "trust_region.eta1"),
    "tr_radius.eta2": (_is_share, "trust_region.eta2"),
    "tr_radius.gamma_dec": (_is_share, "trust_region.gamma_dec"),
    "tr_radius.gamma_inc": (_is_above_one, "trust_region.gamma_inc"),
    "tr_radius.gamma_inc_overline": (_is_above_one, "trust_region.gamma_inc_step"),
    "tr_radius.alpha1": (_is_share, "trust_region.alpha1"),
    "tr_radius.alpha2": (_is_share, "trust_region.alpha2"),
    "slow.history_for_slow": (_is_count, "slow.history"),
    "slow.thresh_for_slow": (_is_size, "slow.rate"),
    "restarts.max_unsuccessful_restarts": (_is_count, "restarts.max_unsuccessful"),
    "restarts.soft.num_geom_steps": (_is_count, "restarts.num_moved"),
    "restarts.auto_detect": (_is_flag, "restarts.automatic"),
}

#: Keys that ``solve`` reads itself: a check of the value, and the default (``None`` where it
#: depends on other arguments).
VALUES: dict[str, tuple[_Check, Any]] = {
    "logging.n_to_print_whole_x_vector": (_is_size, 6),
    "logging.save_diagnostic_info": (_is_flag, False),
    "logging.save_poisedness": (_is_flag, True),
    "logging.save_xk": (_is_flag, False),
    "logging.save_rk": (_is_flag, False),
    "init.random_initial_directions": (_is_flag, False),
    "init.run_in_parallel": (_is_flag, False),
    "model.abs_tol": (_is_size, 1e-12),
    "model.rel_tol": (_is_size, 1e-20),
    "slow.max_slow_iters": (_is_count, None),
    "noise.quit_on_noise_level": (_is_flag, None),
    "noise.scale_factor_for_quit": (_is_size, 1.0),
    "noise.multiplicative_noise_level": (_is_level, None),
    "noise.additive_noise_level": (_is_level, None),
    "interpolation.throw_error_on_nans": (_is_flag, False),
    "restarts.throw_error_on_nans": (_is_flag, False),
    "restarts.use_restarts": (_is_flag, None),
    "growing.ndirs_initial": (_is_count, None),
}

#: Keys that only matter together with values that are refused (more points after each restart, hard
#: restarts). They accept every value that DFO-LS accepts.
UNUSED: dict[str, _Check] = {
    "restarts.increase_npt_amt": _is_amount,
    "restarts.hard.increase_ndirs_initial_amt": _is_amount,
    "restarts.hard.use_old_rk": _is_flag,
}

#: Keys without a meaning for this solver, and the default, which is the only value they accept.
FIXED: dict[str, Any] = {
    "general.rounding_error_constant": 0.1,
    "general.check_objfun_for_overflow": True,
    "init.random_directions_make_orthogonal": True,
    "interpolation.precondition": True,
    "regression.num_extra_steps": 0,
    "regression.increase_num_extra_steps_with_restart": 0,
    "regression.momentum_extra_steps": False,
    "restarts.rhoend_scale": 1.0,
    "restarts.use_soft_restarts": True,
    "restarts.soft.move_xk": True,
    "restarts.increase_npt": False,
    "restarts.auto_detect.history": 30,
    "restarts.auto_detect.min_chgJ_slope": 0.015,
    "restarts.auto_detect.min_correl": 0.1,
    "growing.full_rank.scale_factor": 1e-2,
    "growing.full_rank.svd_scale_factor": 1.0,
    "growing.full_rank.min_sing_val": 1e-6,
    "growing.full_rank.svd_max_jac_cond": 1e8,
    "growing.do_geom_steps": False,
    "growing.safety.do_safety_step": True,
    "growing.safety.reduce_delta": False,
    "growing.safety.full_geom_step": False,
    "growing.reset_delta": False,
    "growing.reset_rho": False,
    "growing.num_new_dirns_each_iter": 0,
    "dykstra.d_tol": 1e-10,
    "dykstra.max_iters": 100,
    "matrix_rank.r_tol": 1e-18,
    "func_tol.criticality_measure": 1e-3,
    "func_tol.tr_step": 0.9,
    "func_tol.max_iters": 500,
    "sfista.max_iters_scaling": 2.0,
}

#: Keys without a meaning for this solver whose default depends on the number of residuals or on
#: other arguments.
DERIVED = (
    "restarts.max_npt",
    "restarts.soft.max_fake_successful_steps",
    "growing.gamma_dec",
    "growing.full_rank.use_full_rank_interp",
    "growing.perturb_trust_region_step",
    "growing.delta_scale_new_dirns",
)

#: All keys that DFO-LS documents.
KEYS = frozenset([*OPTIONS, *VALUES, *UNUSED, *FIXED, *DERIVED])


def read(
    user_params: Mapping[str, Any] | None, noisy: bool, num_params: int, npt: int, maxfun: int
) -> Params:
    """Returns the values of all keys, where ``None`` means the default.

    A key that is unknown, or whose value cannot be honoured, raises a ``ValueError`` with its name.
    """
    given = {} if user_params is None else user_params
    if not isinstance(given, Mapping):
        raise TypeError(f"user_params must be a dictionary, but is {given!r}")
    params = Params(values={key: default for key, (_, default) in VALUES.items()})
    params.values["slow.max_slow_iters"] = 20 * num_params
    params.values["restarts.use_restarts"] = params.values["noise.quit_on_noise_level"] = noisy
    derived: dict[str, Any] = {
        "restarts.max_npt": npt,
        "restarts.soft.max_fake_successful_steps": maxfun,
    }
    if given.get("tr_radius.gamma_dec") is not None:
        derived["growing.gamma_dec"] = given["tr_radius.gamma_dec"]
    bad = []
    for key, value in given.items():
        if key not in KEYS:
            raise ValueError(f"unknown parameter {key!r} in user_params")
        if value is None:
            continue
        if key in OPTIONS:
            check, path = OPTIONS[key]
            params.options[path] = value
        elif key in VALUES:
            check, _ = VALUES[key]
            params.values[key] = value
        elif key in UNUSED:
            check = UNUSED[key]
        else:
            check = _is_default(key, derived if key in DERIVED else FIXED)
        if not check(value):
            bad.append(key)
    if bad:
        raise InputError(f"Bad parameters: {bad}")
    levels = (
        params.values["noise.multiplicative_noise_level"],
        params.values["noise.additive_noise_level"],
    )
    if None not in levels:
        raise InputError("Must have exactly one of additive or multiplicative noise estimate")
    return params


def _is_default(key: str, defaults: Mapping[str, Any]) -> _Check:
    """Returns a check that raises an exception unless the value is the default."""

    def check(value: Any) -> bool:
        if (
            key in defaults
            and _is_flag(value) == _is_flag(defaults[key])
            and bool(value == defaults[key])
        ):
            return True
        only = f"can only be {defaults[key]!r}" if key in defaults else "cannot be set"
        raise ValueError(
            f"user_params[{key!r}] is {value!r}, but {only}: "
            "it has no meaning for the algorithm of dfo_ls"
        )

    return check
