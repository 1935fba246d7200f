"""ROS 2 nodes of the package; nothing outside this folder imports rclpy."""
