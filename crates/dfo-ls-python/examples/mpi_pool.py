"""Tunes the simulator with a pool of MPI processes, one of which runs this script.

mpiexec -n 3 python -m mpi4py.futures mpi_pool.py        # on this machine
srun --mpi=pmix python -m mpi4py.futures mpi_pool.py     # in a batch script of Slurm
"""

import dfo_ls
from mpi4py.futures import MPIPoolExecutor
from simulator import BOUNDS, X0, simulator

if __name__ == "__main__":
    with MPIPoolExecutor() as pool:
        result = dfo_ls.minimize(
            simulator,
            X0,
            bounds=BOUNDS,
            inexact=True,
            final_radius=1e-6,
            batch=2,
            executor=pool,
            save="plate.run",
        )
    print(result)
