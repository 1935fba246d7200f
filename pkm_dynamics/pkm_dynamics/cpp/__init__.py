"""C++ of one robot: kinematics and dynamics from the same expressions as the machine code."""

from pkm_dynamics.cpp.cpp_sources import CppSources, build_cpp
from pkm_dynamics.cpp.packages import build_solver

__all__ = ['CppSources', 'build_cpp', 'build_solver']
