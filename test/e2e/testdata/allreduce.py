"""An allreduce over all processes of MPI, again and again for a number of seconds in the first attempt.

By ctypes, since the libraries that Debian's openmpi-bin and mpich bring need no compiler then.
"""
import ctypes
import os
import sys
import time

name = "libmpi.so.40" if "OMPI_COMM_WORLD_RANK" in os.environ else "libmpich.so.12"
mpi = ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
if name.startswith("libmpich"):  # mpi.h, MPICH 4.0: handles are numbers
    world, double, add = (ctypes.c_int(n) for n in (0x44000000, 0x4C00080B, 0x58000003))
else:  # mpi.h, Open MPI 4.1: handles are addresses
    world, double, add = (ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, n)))
                          for n in ("ompi_mpi_comm_world", "ompi_mpi_double", "ompi_mpi_op_sum"))
mpi.MPI_Init(None, None)
rank, size = ctypes.c_int(), ctypes.c_int()
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(size))
mine, total = ctypes.c_double(rank.value + 1), ctypes.c_double()
first = os.environ["TRAININGJOB_ATTEMPT"] == "1"
deadline = time.time() + (float(sys.argv[1]) if first else 0)
while True:
    code = mpi.MPI_Allreduce(ctypes.byref(mine), ctypes.byref(total), 1, double, add, world)
    if code or total.value != size.value * (size.value + 1) / 2:
        sys.exit("rank %d: code %d, %s" % (rank.value, code, total.value))
    if time.time() > deadline:
        break
    time.sleep(0.2)
mpi.MPI_Finalize()
print("rank %d of %d on %s: %d" % (rank.value, size.value, os.uname().nodename, total.value), flush=True)
