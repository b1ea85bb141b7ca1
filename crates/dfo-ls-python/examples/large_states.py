"""Keeps the states of the simulator on a shared disk. Only names of files go over the network.

python large_states.py FOLDER             # an empty folder that all machines can read and write
"""

from __future__ import annotations

import sys
from pathlib import Path

import dfo_ls
import simulator
from distributed import Client, LocalCluster


def run(client: Client, folder: str) -> dfo_ls.Result:
    """Runs to the end, and deletes the files that no later evaluation can start from."""
    engine = dfo_ls.Engine(
        simulator.X0, bounds=simulator.BOUNDS, options={"trust_region": {"final_radius": 1e-6}}
    )

    def delete_unused(_: dfo_ls.Iteration) -> None:
        for path in Path(folder).glob("*.npy"):
            if path.name not in engine.states:
                path.unlink()

    return engine.run(
        simulator.with_files,
        args=(folder,),
        inexact=True,
        executor=client.get_executor(),
        callback=delete_unused,
    )


if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        client.upload_file(simulator.__file__)
        print(run(client, sys.argv[1]))
