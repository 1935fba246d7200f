"""Benchmarks of `pkm bench` that need no ROS."""
