"""The demonstration: a simulated robot excited, identified and controlled through ROS 2."""
