"""A robot and its motion as a picture in space: links, forces, limits, path, workspace."""
