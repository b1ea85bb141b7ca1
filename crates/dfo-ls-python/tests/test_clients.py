"""Packages that call DFO-LS or other least-squares solvers, run against ``dfo_ls``."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from typing import Any

import dfo_ls
import numpy as np
import pytest
from dfo_ls import _params

#: optimagic looks for the module ``dfols`` when it is imported, which needs a new interpreter.
OPTIMAGIC = """
import json, sys, warnings
import numpy as np
import dfo_ls
sys.modules["dfols"] = dfo_ls
import optimagic as om

warnings.simplefilter("ignore")
given, solve = {}, dfo_ls.solve

def spy(*args, **keywords):
    given.update(keywords["user_params"])
    return solve(*args, **keywords)

dfo_ls.solve = spy

@om.mark.least_squares
def rosenbrock(x):
    return np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])

@om.mark.least_squares
def decay(p):
    t = np.arange(20.0)
    return p["amplitude"] * np.exp(-p["rate"] * t) - 500 * np.exp(-0.1 * t)

start, named = np.array([-1.2, 1.0]), {"amplitude": 200.0, "rate": 0.3}
box = om.Bounds(lower=np.array([-2.0, -2.0]), upper=np.array([0.9, 2.0]))
resets = {
    "reset_type": "hard", "reuse_criterion_value_at_hard_reset": False,
    "n_extra_interpolation_points_per_hard_reset": 2,
}
found = {}

def run(name, fun, x0, bounds=None, **options):
    try:
        result = om.minimize(fun, x0, algorithm="nag_dfols", bounds=bounds, algo_options=options)
        params = result.params
        values = list(params.values()) if isinstance(params, dict) else params.tolist()
        found[name] = [result.success, values, result.fun, result.n_fun_evals]
    except ValueError as error:
        found[name] = str(error)

run("default", rosenbrock, start)
run("named", decay, named)
run("bounds", rosenbrock, start, box)
run("box", decay, named, om.Bounds(
    lower={"amplitude": 1.0, "rate": 1e-3}, upper={"amplitude": 2e3, "rate": 1.0}
))
run("noise", rosenbrock, start, noise_additive_level=1e-4)
run("budget", rosenbrock, start, stopping_maxfun=9)
run("points", rosenbrock, start, trustregion_n_interpolation_points=5)
run("radius", rosenbrock, start, trustregion_initial_radius=0.5)
run("unused", rosenbrock, start, trustregion_reset_options={
    key: value for key, value in resets.items() if key != "reset_type"
})
run("hard", rosenbrock, start, trustregion_reset_options=resets)
print(json.dumps({"keys": sorted(given), "found": found}))
"""


@pytest.fixture(scope="module")
def optimagic() -> Any:
    """What optimagic found with our package in the place of DFO-LS."""
    if importlib.util.find_spec("optimagic") is None:
        pytest.skip("optimagic is not installed: nag_dfols is not run against dfo_ls")
    done = subprocess.run([sys.executable, "-c", OPTIMAGIC], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_optimagic_passes_no_key_that_is_unknown(optimagic: Any) -> None:
    assert len(optimagic["keys"]) >= 56 and set(optimagic["keys"]) <= _params.KEYS


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("default", [1, 1]),
        ("named", [500, 0.1]),
        ("bounds", [0.9, 0.81]),
        ("box", [500, 0.1]),
        ("noise", [1, 1]),
        ("points", [1, 1]),
        ("radius", [1, 1]),
        ("unused", [1, 1]),
    ],
)
def test_optimagic_runs(optimagic: Any, name: str, answer: list[float]) -> None:
    success, params, _, evaluations = optimagic["found"][name]
    assert success and 5 < evaluations < 300
    np.testing.assert_allclose(params, answer, rtol=1e-2 if name == "noise" else 1e-5)


def test_optimagic_limits(optimagic: Any) -> None:
    success, _, _, evaluations = optimagic["found"]["budget"]
    assert not success and evaluations == 9
    assert "'restarts.use_soft_restarts'" in optimagic["found"]["hard"]


def test_lmfit() -> None:
    """lmfit has no list of solvers to add to: a subclass of its ``Minimizer`` adds a method."""
    lmfit = pytest.importorskip("lmfit", reason="lmfit is not installed: it is not run with dfo_ls")

    class Minimizer(lmfit.Minimizer):  # type: ignore[misc, name-defined]
        def dfo_ls(self, params: Any = None, **keywords: Any) -> Any:
            result = self.prepare_fit(params=params)
            free = [result.params[name] for name in result.var_names]

            def fun(x: np.ndarray) -> Any:
                for parameter, value in zip(free, x):
                    parameter.value = value
                result.params.update_constraints()
                return self.userfcn(result.params, *self.userargs, **self.userkws)

            bounds = ([p.min for p in free], [p.max for p in free])
            found = dfo_ls.minimize(fun, [p.value for p in free], bounds=bounds, **keywords)
            result.method, result.residual = "dfo_ls", np.asarray(fun(found.x))
            result.nfev, result.success = found.num_evaluations, found.success
            result.message, result.covar = found.message, found.covariance
            assert found.standard_errors is not None
            for parameter, error in zip(free, found.standard_errors):
                parameter.stderr = float(error)
            result._calculate_statistics()
            return result

    t = np.arange(20.0)
    data = 500 * np.exp(-0.1 * t) + np.random.default_rng(0).normal(size=20)
    params = lmfit.Parameters()
    params.add("amplitude", 200, min=1, max=2000)
    params.add("rate", 0.3, min=1e-3, max=1.0)
    params.add("half_life", expr="log(2) / rate")

    def residuals(p: Any) -> Any:
        return p["amplitude"] * np.exp(-p["rate"] * t) - data

    ours, theirs = Minimizer(residuals, params).dfo_ls(), lmfit.minimize(residuals, params)
    assert ours.success and ours.chisqr == pytest.approx(theirs.chisqr)
    for name in ("amplitude", "rate", "half_life"):
        assert ours.params[name].value == pytest.approx(theirs.params[name].value, rel=1e-5)
    for name in ("amplitude", "rate"):
        assert ours.params[name].stderr == pytest.approx(theirs.params[name].stderr, rel=1e-2)
