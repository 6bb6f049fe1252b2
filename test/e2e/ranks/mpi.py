"""MPI with ctypes, so that the libraries of Debian's openmpi-bin and mpich need no compiler."""

import ctypes
import os

_open_mpi = "OMPI_COMM_WORLD_RANK" in os.environ
_lib = ctypes.CDLL("libmpi.so.40" if _open_mpi else "libmpich.so.12", mode=ctypes.RTLD_GLOBAL)
if _open_mpi:  # mpi.h, Open MPI 4.1: handles are addresses
    _world, _double, _add = (ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(_lib, n)))
                             for n in ("ompi_mpi_comm_world", "ompi_mpi_double", "ompi_mpi_op_sum"))
else:  # mpi.h, MPICH 4.0: handles are numbers
    _world, _double, _add = (ctypes.c_int(n) for n in (0x44000000, 0x4C00080B, 0x58000003))


def start():
    """Returns the rank of this process, and their number."""
    _lib.MPI_Init(None, None)
    rank, size = ctypes.c_int(), ctypes.c_int()
    _lib.MPI_Comm_rank(_world, ctypes.byref(rank))
    _lib.MPI_Comm_size(_world, ctypes.byref(size))
    return rank.value, size.value


def allreduce(value):
    """Returns the sum of all processes' values."""
    mine, total = ctypes.c_double(value), ctypes.c_double()
    code = _lib.MPI_Allreduce(ctypes.byref(mine), ctypes.byref(total), 1, _double, _add, _world)
    if code:
        raise SystemExit("MPI_Allreduce: code %d" % code)
    return total.value


def end():
    """Ends MPI for this process. No other function may be called afterwards.

    MPI_Finalize of MPICH 4.0.2 over UCX closes connections and sometimes deadlocks: one process waits for the
    other's answer, and the other waits at the process manager. Without MPI_Finalize, Hydra accepts a process that
    exits 0.
    """
    allreduce(0.0)
    if _open_mpi:
        _lib.MPI_Finalize()
