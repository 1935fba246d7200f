"""ROS 2 nodes: the only modules of this package that import rclpy."""
