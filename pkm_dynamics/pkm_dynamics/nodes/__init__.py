"""ROS 2 nodes and message conversions."""
