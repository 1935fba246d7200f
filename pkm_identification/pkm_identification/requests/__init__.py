"""What the services and the command line ask for, without ROS and without printing."""
