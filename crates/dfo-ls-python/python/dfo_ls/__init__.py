"""Derivative-free least squares for expensive, noisy or inexact simulators.

>>> import dfo_ls
>>> def rosenbrock(x):
...     return [10 * (x[1] - x[0] ** 2), 1 - x[0]]
>>> dfo_ls.minimize(rosenbrock, [-1.2, 1.0]).x.round(6)
array([1., 1.])

:func:`minimize` solves a problem in one call. :class:`Engine` leaves the evaluations to the caller
(ask and tell). :func:`solve` has the interface of DFO-LS 1.6.
"""

from ._database import EvaluationDatabase
from ._dfo_ls import __version__
from ._engine import L1, Engine, Job, Regularizer
from ._minimize import minimize
from ._optim_results import OptimResults
from ._options import default_options
from ._result import Evaluated, Iteration, Result
from ._run import Reject
from ._solve import solve

__all__ = [
    "L1",
    "Engine",
    "EvaluationDatabase",
    "Evaluated",
    "Iteration",
    "Job",
    "OptimResults",
    "Regularizer",
    "Reject",
    "Result",
    "__version__",
    "default_options",
    "minimize",
    "solve",
]
