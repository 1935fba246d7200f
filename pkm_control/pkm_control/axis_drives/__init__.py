"""What the axes of a controller are told: forces, or signals of valves."""
