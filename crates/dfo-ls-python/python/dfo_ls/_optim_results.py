"""The result of ``solve``, with the attributes of DFO-LS's result."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import FloatArray


class OptimResults:
    """The outcome of :func:`solve`, with the attributes that DFO-LS documents.

    >>> import dfo_ls, json
    >>> solution = dfo_ls.solve(lambda x: [x[0] - 1.0, x[1] + 2.0], [0.0, 0.0])
    >>> solution.flag == solution.EXIT_SUCCESS, solution.x.round(6)
    (True, array([ 1., -2.]))
    >>> again = dfo_ls.OptimResults.from_dict(json.loads(json.dumps(solution.to_dict())))
    >>> again.msg == solution.msg and bool((again.x == solution.x).all())
    True
    """

    EXIT_SUCCESS = 0
    EXIT_MAXFUN_WARNING = 1
    EXIT_SLOW_WARNING = 2
    EXIT_FALSE_SUCCESS_WARNING = 3
    EXIT_AUTO_DETECT_RESTART_WARNING = 4
    EXIT_TR_INCREASE_WARNING = 5
    #: The run was interrupted with Ctrl-C. DFO-LS does not have this flag.
    EXIT_STOPPED_WARNING = 6
    EXIT_INPUT_ERROR = -1
    EXIT_TR_INCREASE_ERROR = -2
    EXIT_LINALG_ERROR = -3
    EXIT_EVAL_ERROR = -4

    max_resid_length_print = 20
    max_jac_length_print = 40

    def __init__(
        self,
        xmin: FloatArray | None,
        rmin: FloatArray | None,
        objmin: float | None,
        jacmin: FloatArray | None,
        nf: int,
        nx: int,
        nruns: int,
        exit_flag: int,
        exit_msg: str,
        xmin_eval_num: int,
        jacmin_eval_nums: Any,
    ) -> None:
        self.x = xmin
        self.resid = rmin
        self.obj = objmin
        self.jacobian = jacmin
        self.nf = nf
        self.nx = nx
        self.nruns = nruns
        self.flag = exit_flag
        self.msg = exit_msg
        #: A pandas frame, or a dictionary of lists if pandas is not installed. ``None`` without
        #: ``user_params={"logging.save_diagnostic_info": True}``.
        self.diagnostic_info: Any = None
        self.xmin_eval_num = xmin_eval_num
        self.jacmin_eval_nums = np.array(jacmin_eval_nums, dtype=int)

    @property
    def f(self) -> float | None:
        """The objective: the name of ``obj`` in older versions of DFO-LS."""
        return self.obj

    def to_dict(self, replace_nan: bool = True) -> dict[str, Any]:
        """Returns the result as lists and numbers, for JSON.

        With ``replace_nan``, NaN becomes ``None``.
        """

        def plain(value: Any) -> Any:
            if hasattr(value, "to_dict"):
                value = value.to_dict()
            if hasattr(value, "tolist"):
                value = value.tolist()
            if isinstance(value, dict):
                return {key: plain(entry) for key, entry in value.items()}
            if isinstance(value, (list, tuple)):
                return [plain(entry) for entry in value]
            return None if replace_nan and isinstance(value, float) and value != value else value

        keys = ("x", "resid", "obj", "jacobian", "nf", "nx", "nruns", "flag", "msg")
        more = ("diagnostic_info", "xmin_eval_num", "jacmin_eval_nums")
        return {key: plain(getattr(self, key)) for key in keys + more}

    @staticmethod
    def from_dict(soln_dict: dict[str, Any]) -> OptimResults:
        """Restores a result from ``to_dict()``, also after a conversion to JSON and back."""

        def array(key: str) -> FloatArray | None:
            return None if soln_dict[key] is None else np.array(soln_dict[key], dtype=float)

        def restored(entry: Any) -> Any:
            # lists were arrays, and None was NaN
            if isinstance(entry, list):
                return np.array(entry, dtype=float)
            return float("nan") if entry is None else entry

        obj = soln_dict["obj"]
        results = OptimResults(
            array("x"),
            array("resid"),
            obj if obj is not None or soln_dict["x"] is None else float("nan"),
            array("jacobian"),
            *(
                soln_dict[key]
                for key in ("nf", "nx", "nruns", "flag", "msg", "xmin_eval_num", "jacmin_eval_nums")
            ),
        )
        table = soln_dict.get("diagnostic_info")
        if table is not None:
            columns = {
                key: list(rows.values()) if isinstance(rows, dict) else rows
                for key, rows in table.items()
            }
            results.diagnostic_info = frame(
                {key: [restored(entry) for entry in rows] for key, rows in columns.items()}
            )
        return results

    def __str__(self) -> str:
        lines = ["****** dfo_ls Results ******"]
        if self.flag != self.EXIT_INPUT_ERROR:
            lines.append(f"Solution xmin = {self.x}")
            if self.resid is not None and len(self.resid) <= self.max_resid_length_print:
                lines.append(f"Residual vector = {self.resid}")
            else:
                lines.append("Not showing residual vector because it is too long; check self.resid")
            lines.append(f"Objective value f(xmin) = {self.obj:.10g}")
            lines.append(f"Needed {self.nf} objective evaluations (at {self.nx} points)")
            if self.nruns > 1:
                lines.append(f"Did a total of {self.nruns} runs")
            if self.jacobian is None:
                lines.append("No Jacobian available")
            elif self.jacobian.size <= self.max_jac_length_print:
                lines.append(f"Approximate Jacobian = {self.jacobian}")
            else:
                lines.append(
                    "Not showing approximate Jacobian because it is too long; check self.jacobian"
                )
            if self.diagnostic_info is not None:
                lines.append("Diagnostic information available; check self.diagnostic_info")
            lines.append(f"Solution xmin was evaluation point {self.xmin_eval_num}")
            lines.append(
                f"Approximate Jacobian formed using evaluation points {self.jacmin_eval_nums}"
            )
        lines += [f"Exit flag = {self.flag}", self.msg, "****************************", ""]
        return "\n".join(lines)


def frame(columns: dict[str, list[Any]]) -> Any:
    """Returns a pandas frame if pandas is installed, otherwise the dictionary."""
    try:
        import pandas
    except ImportError:
        return columns
    return pandas.DataFrame(columns)
