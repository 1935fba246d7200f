"""ROS clients of the command line; the only folder here that imports rclpy."""
