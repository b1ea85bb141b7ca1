"""What comes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import FloatArray

if TYPE_CHECKING:
    from ._engine import Engine


@dataclass(frozen=True, eq=False)
class Iteration:
    """One iteration. Radii and lengths of steps are in scaled parameters."""

    number: int
    #: ``initial``, ``accepted``, ``rejected``, ``failed``, ``short``, ``sharpened``,
    # ``criticality`` or ``restarted``
    kind: str
    x: FloatArray
    objective: float
    #: where the exact objective certainly lies
    interval: tuple[float, float]
    delta: float
    rho: float
    step: float | None
    predicted: float | None
    #: achieved over predicted decrease
    ratio: float | None
    #: whether the decision about the step is certain in spite of inexact evaluations
    certified: bool
    gradient: float
    poisedness: float | None
    num_points: int
    num_evaluations: int
    work: int


@dataclass(frozen=True, eq=False)
class Evaluated:
    """One evaluation, as it was asked for and answered."""

    #: which point, counted from zero
    point: int
    x: FloatArray
    #: ``initial``, ``trial``, ``geometry`` or ``sharpen``
    purpose: str
    requested: float
    achieved: float
    objective: float | None
    #: why there is no objective
    problem: str | None
    work: int


@dataclass(frozen=True, eq=False)
class Result:
    """The outcome of a run. Every run that began has one, however it ended.

    >>> import dfo_ls
    >>> result = dfo_ls.minimize(lambda x: [x[0] - 1, 10 * (x[1] - x[0] ** 2)], [-1.2, 1.0])
    >>> result.success, result.termination
    (True, 'radius_reached')
    >>> result.x.round(6), result.jacobian.shape
    (array([1., 1.]), (2, 2))
    """

    #: the best point
    x: FloatArray
    #: the residuals there; empty if no point could be evaluated
    residuals: FloatArray
    #: Euclidean norm of their error, at most
    accuracy: float
    #: the sum of squares, plus the regulariser if there is one
    objective: float
    #: where the exact objective lies
    interval: tuple[float, float]
    #: ``radius_reached``, ``target_reached``, ``noise_reached``, ``restarts_exhausted``, ``slow``,
    # ``exhausted``, ``blocked``, : ``accuracy_floor``, ``stopped`` or ``failed``
    termination: str
    message: str
    #: whether it ended because there was nothing left to do
    success: bool
    #: derivatives of the residuals by the parameters at ``x``, as the last model has them
    jacobian: FloatArray | None = field(repr=False)
    #: of the parameters, for fits to data with errors of equal variance
    covariance: FloatArray | None = field(repr=False)
    num_points: int
    num_evaluations: int
    work: int
    iterations: list[Iteration] = field(repr=False)
    evaluations: list[Evaluated] = field(repr=False)
    #: the run: ``engine.run(fun)`` goes on after Ctrl-C, or after ``engine.extend(...)``; not
    # pickled with the result
    engine: Engine | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"engine": None}

    @property
    def standard_errors(self) -> FloatArray | None:
        """Standard errors of the parameters in a fit to data: roots of the diagonal of the covariance.

        >>> import dfo_ls, numpy as np
        >>> t, error = np.arange(40.0), np.tile([0.02, -0.01, -0.02, 0.01], 10)
        >>> data = 5 * np.exp(-t / 10) + error
        >>> fit = dfo_ls.minimize(lambda x: x[0] * np.exp(-t / x[1]) - data, [1.0, 1.0])
        >>> bool(np.all(abs(fit.x - [5, 10]) < 3 * fit.standard_errors))
        True
        """
        if self.covariance is None:
            return None
        errors: FloatArray = np.sqrt(np.diag(self.covariance))
        return errors
