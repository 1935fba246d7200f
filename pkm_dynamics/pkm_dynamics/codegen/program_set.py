"""The compiled functions of one mechanism, each made when it is first needed."""

from __future__ import annotations

import threading
from typing import NamedTuple

from pkm_dynamics.codegen import equations
from pkm_dynamics.codegen.machine_code import MachineCode
from pkm_dynamics.codegen.programs import BUILDERS
from pkm_dynamics.mechanism import Mechanism


class Code(NamedTuple):
    """Addresses of the functions of `programs` (0: not compiled) and how they are used."""

    newton: int
    approach: int
    branch: int
    pose: int
    twist: int
    systems: int
    kinematics: int
    actuated: int
    dynamics: int
    bias: int
    platform: int
    forces: int
    columns: int
    inertial: int
    inline: bool  # whether all components are solved inside the functions


class ProgramSet:
    """Compiles the functions of a mechanism on demand; safe to use from several threads."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism
        self._machine_code = MachineCode()
        self._lock = threading.Lock()
        self._code = Code(*(0,) * len(BUILDERS), inline=equations.is_inline(mechanism))

    @property
    def inline(self) -> bool:
        """Whether all components are solved inside the generated functions."""
        return self._code.inline

    def code(self, *names: str) -> Code:
        """Return the code with at least these functions compiled."""
        missing = [name for name in names if not getattr(self._code, name)]
        if missing:
            with self._lock:
                for name in missing:
                    if not getattr(self._code, name):
                        address = self._machine_code.compile(name, *BUILDERS[name](self._mechanism))
                        self._code = self._code._replace(**{name: address})
        return self._code
