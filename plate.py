"""Temperatures of a plate: one request for each line, as JSON."""
import json
import sys

import numpy as np

N = 24
ROWS, COLUMNS = np.mgrid[0:N, 0:N] / (N - 1)
SENSORS = np.ix_([3, 9, 14, 20], [3, 9, 14, 20])


def simulate(strength, loss, spot, accuracy, state):
    source = strength * np.exp(-((COLUMNS - spot) ** 2 + (ROWS - 0.5) ** 2) / 0.02)
    field = np.zeros((N + 2, N + 2))
    if state is not None:
        field[1:-1, 1:-1] = state
    shrink, sweeps, error = 4 / (4 + loss), 0, np.inf
    while not error <= accuracy and sweeps < 20_000:
        neighbours = field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:]
        new = (neighbours + source) / (4 + loss)
        change = np.abs(new - field[1:-1, 1:-1]).max()
        field[1:-1, 1:-1] = new
        # sixteen sensors, each at most this far off, and rounding
        error = 4 * (shrink / (1 - shrink) * change + 1e-12)
        sweeps += 1
    inside = field[1:-1, 1:-1]
    return {"sensors": inside[SENSORS].ravel().tolist(), "error": error, "sweeps": sweeps, "field": inside.tolist()}


for line in sys.stdin:
    print(json.dumps(simulate(**json.loads(line))), flush=True)
