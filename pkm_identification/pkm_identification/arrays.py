"""Types of arrays, for annotations; shapes and units are in the docstrings.

`freeze` makes those of a frozen dataclass its own.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]


def freeze(instance: Any, *names: str) -> None:
    """Copy the arrays of a frozen dataclass in its `__post_init__`, read-only from now on."""
    for name in names:
        value = getattr(instance, name)
        if value is not None:
            array = np.array(value, dtype=float)
            array.setflags(write=False)
            object.__setattr__(instance, name, array)
