"""L-BFGS-B of SciPy. Values and gradients come from the other end of the pipe."""

import json
import sys

import numpy as np
from scipy.optimize import minimize


def receive():
    """Read one message."""
    line = sys.stdin.readline()
    if not line:
        sys.exit(1)
    return json.loads(line)


def evaluate(theta):
    """Let the other end compute the objective and its gradient."""
    print(json.dumps({"theta": theta.tolist()}), flush=True)
    answer = receive()
    return answer["value"], np.array(answer["gradient"])


problem = receive()
result = minimize(
    evaluate,
    problem["start"],
    jac=True,
    method="L-BFGS-B",
    bounds=list(zip(problem["lower"], problem["upper"])),
    options={"maxcor": 20, "maxfun": 1000, "ftol": 1e-10, "gtol": 1e-8},
)
print(json.dumps({"end": str(result.message)}), flush=True)
