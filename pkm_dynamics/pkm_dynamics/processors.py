"""How many processors a process may use, and one thread for linear algebra.

Matrices here are small: a second thread mostly waits, in a loop that costs as much processor time
again. And sums in another order are other sums: with one thread the digits are those of any
number of processors.
"""

import os

# Variables that NumPy's libraries read when they are loaded.
SINGLE_THREAD = {
    name: '1' for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS')
}


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
