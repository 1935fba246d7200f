"""C++ of the controller of one robot."""

from pkm_control.cpp_controller.controller_source import controller_header

__all__ = ['controller_header']
