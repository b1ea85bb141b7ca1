"""Tunes the simulator on a Dask cluster: the cores of this machine, or jobs of Slurm.

    python dask_cluster.py                    # a cluster on this machine
    python dask_cluster.py --slurm short      # jobs in the partition "short"

The run is saved after every evaluation. The same command continues it after a crash.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import dfo_ls
import simulator
from distributed import Client, LocalCluster


def cluster(partition: str | None, workers: int) -> Any:
    """Starts a cluster with one process per evaluation."""
    if partition is None:
        return LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
    from dask_jobqueue import SLURMCluster

    found = SLURMCluster(
        queue=partition,
        cores=1,
        processes=1,
        memory="2GB",
        walltime="01:00:00",
        # a worker leaves, and hands over its results, before Slurm kills it
        worker_extra_args=["--lifetime", "55m", "--lifetime-stagger", "4m"],
    )
    # new jobs replace those that have ended
    found.adapt(minimum_jobs=workers, maximum_jobs=workers)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slurm", metavar="PARTITION", help="run jobs of Slurm")
    parser.add_argument("--workers", type=int, default=2, help="the number of evaluations at once")
    parser.add_argument("--save", type=Path, default="plate.run", help="the file of the run")
    args = parser.parse_args()

    if args.save.exists():
        engine = dfo_ls.Engine.load(args.save)
        print(f"continues after {engine.result().num_evaluations} evaluations")
    else:
        engine = dfo_ls.Engine(
            simulator.X0,
            bounds=simulator.BOUNDS,
            options={"batch": args.workers, "trust_region": {"final_radius": 1e-6}},
        )
    with cluster(args.slurm, args.workers) as machines, Client(machines) as client:
        client.upload_file(simulator.__file__)  # the workers import it
        result = engine.run(
            simulator.simulator, inexact=True, executor=client.get_executor(), save=args.save
        )
    print(result)


if __name__ == "__main__":
    main()
