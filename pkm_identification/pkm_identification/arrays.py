"""Types of arrays, for annotations; shapes and units are in the docstrings."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]
