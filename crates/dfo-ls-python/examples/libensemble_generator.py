"""Tunes the simulator with libEnsemble: the solver is a persistent generator.

    python libensemble_generator.py --comms local --nworkers 3     # processes of this machine
    mpiexec -n 4 python libensemble_generator.py                   # MPI, also inside a Slurm job

Choose libEnsemble where the simulator itself is an MPI program that needs a part of the machines.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dfo_ls
import numpy as np
from libensemble import Ensemble
from libensemble.alloc_funcs.start_only_persistent import only_persistent_gens
from libensemble.message_numbers import EVAL_GEN_TAG, FINISHED_PERSISTENT_GEN_TAG
from libensemble.specs import AllocSpecs, ExitCriteria, GenSpecs, LibeSpecs, SimSpecs
from libensemble.tools.persistent_support import PersistentSupport
from simulator import BOUNDS, DATA, X0, with_files

#: The folder for the states of the simulator. All machines must share it.
FOLDER = "plate_states"
# the fields of a job and of its answer; a state is the name of a file
JOB = [("x", float, len(X0)), ("accuracy", float), ("start", "U40")]
ANSWER = [
    ("residuals", float, len(DATA)),
    ("achieved", float),
    ("state", "U40"),
    ("work", int),
    ("failed", bool),
]


def generator(history: Any, info: Any, specs: Any, libe_info: Any) -> Any:
    """Asks the engine for jobs and tells it the answers until the run ends."""
    support = PersistentSupport(libe_info, EVAL_GEN_TAG)
    engine = dfo_ls.Engine(X0, bounds=BOUNDS, options=specs["user"])
    while jobs := engine.ask():
        rows = np.zeros(len(jobs), dtype=JOB)
        rows["x"] = [job.x for job in jobs]
        rows["accuracy"] = [job.accuracy for job in jobs]
        rows["start"] = [job.state or "" for job in jobs]
        _, work, answers = support.send_recv(rows)
        if answers is None:  # libEnsemble ends the run
            break
        # libEnsemble numbers the jobs in their order, and returns the answers in any order
        for job, row in zip(jobs, answers[np.argsort(work["libE_info"]["H_rows"])]):
            if row["failed"]:
                job.reject("the simulator failed")
            else:
                job.answer(row["residuals"], row["achieved"], str(row["state"]), int(row["work"]))
        engine.tell()
        for path in Path(FOLDER).glob("*.npy"):
            if path.name not in engine.states:
                path.unlink()
    return None, {"result": engine.result()}, FINISHED_PERSISTENT_GEN_TAG


def simulation(history: Any, info: Any, specs: Any, libe_info: Any) -> Any:
    """Evaluates one job."""
    job, answer = history[0], np.zeros(1, dtype=ANSWER)
    try:
        found = with_files(job["x"], job["accuracy"], job["start"] or None, specs["user"]["folder"])
        answer["residuals"], answer["achieved"], answer["state"], answer["work"] = found
    except ArithmeticError:
        answer["failed"] = True
    return answer, info


def main() -> dfo_ls.Result | None:
    """Runs to the end. Only the manager gets a result."""
    Path(FOLDER).mkdir(exist_ok=True)
    ensemble = Ensemble(
        parse_args=True,
        libE_specs=LibeSpecs(gen_on_manager=True, disable_log_files=True),
        gen_specs=GenSpecs(
            gen_f=generator,
            persis_in=[name for name, *_ in ANSWER],
            out=JOB,
            user={"batch": 2, "trust_region": {"final_radius": 1e-6}},
        ),
        sim_specs=SimSpecs(
            sim_f=simulation,
            inputs=[name for name, *_ in JOB],
            out=ANSWER,
            user={"folder": FOLDER},
        ),
        alloc_specs=AllocSpecs(alloc_f=only_persistent_gens),
        exit_criteria=ExitCriteria(sim_max=1000),
    )
    _, infos, _ = ensemble.run()
    # the generator has the number 0
    return infos[0]["result"] if ensemble.is_manager else None


if __name__ == "__main__":
    result = main()
    if result is not None:
        print(result)
