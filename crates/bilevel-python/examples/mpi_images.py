"""Learn a denoiser from images that are spread over the ranks of MPI.

    pip install mpi4py mpich
    mpiexec -n 4 python -m mpi4py mpi_images.py

The run is saved in `mpi_run`. The same command continues it, on any number of ranks.
"""

from pathlib import Path

import bilevel
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
out = Path("mpi_run")

if comm.bcast((out / "bilevel.toml").exists()):
    result = bilevel.resume(out, threads=1, comm=comm)
else:
    # in place of these lines, each rank reads its own files
    count = 8
    own = slice(count * rank // size, count * (rank + 1) // size)
    truth = bilevel.phantoms.dead_leaves(count, (16, 16))
    data = bilevel.add_noise(truth, 0.1)
    result = bilevel.learn(truth[own], data[own], threads=1, out=out, comm=comm)

if rank == 0:
    print(result)
