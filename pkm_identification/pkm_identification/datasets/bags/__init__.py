"""rosbag2 bags: messages, topics and the samples in them."""
