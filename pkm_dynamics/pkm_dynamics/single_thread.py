"""One thread for linear algebra, by variables that NumPy's libraries read when they are loaded.

Matrices here are small: a second thread mostly waits, in a loop that costs as much processor time
again. And sums in another order are other sums: with one thread the digits are those of any
number of processors.
"""

SINGLE_THREAD = {
    name: '1' for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS')
}
