"""The compiled functions of one mechanism, each made when it is first needed."""

from __future__ import annotations

import hashlib
import os
import threading
from dataclasses import asdict
from functools import partial

import numpy as np

from pkm_dynamics.codegen import mechanism_equations as equations
from pkm_dynamics.codegen.machine_code import MachineCode
from pkm_dynamics.codegen.programs import BUILDERS
from pkm_dynamics.layout import Code
from pkm_dynamics.mechanism import Mechanism

# LLVM compiles one function at a time, of whatever mechanism. A process that forks while a
# thread of it compiles would leave LLVM locked in the child for ever: it waits for the thread.
_COMPILING = threading.Lock()
os.register_at_fork(
    before=_COMPILING.acquire, after_in_parent=_COMPILING.release, after_in_child=_COMPILING.release
)


class ProgramSet:
    """Compiles the functions of a mechanism on demand; safe to use from several threads."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism
        with _COMPILING:
            self._machine_code = MachineCode()
        self._digest = mechanism_digest(mechanism)
        self._code = Code(inline=equations.is_inline(mechanism))

    @property
    def inline(self) -> bool:
        """Whether all components are solved inside the generated functions."""
        return self._code.inline

    def code(self, *names: str) -> Code:
        """Return the code with at least these functions compiled."""
        missing = [name for name in names if not getattr(self._code, name)]
        if missing:
            with _COMPILING:
                for name in missing:
                    if not getattr(self._code, name):
                        build = partial(BUILDERS[name], self._mechanism)
                        address = self._machine_code.function(name, self._digest, build)
                        self._code = Code(**{**self._code._asdict(), name: address})
        return self._code


def mechanism_digest(mechanism: Mechanism) -> bytes:
    """Digest of all numbers of a mechanism, to which its functions belong."""
    digest = hashlib.sha256()
    numbers = {**mechanism._asdict(), **asdict(mechanism.tree)}
    del numbers['tree']
    for name, value in numbers.items():
        array = np.asarray(value)
        digest.update(f'{name} {array.dtype.str} {array.shape} '.encode())
        digest.update(array.tobytes())
    return digest.digest()
