"""C++ of the controller of one robot."""

from pkm_control.cpp_controller.controller_source import controller_headers
from pkm_control.cpp_controller.learned_source import learned_header
from pkm_control.cpp_controller.ros2_package import ros2_control_package

__all__ = ['controller_headers', 'learned_header', 'ros2_control_package']
