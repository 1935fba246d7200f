"""Input of unknown origin: files by name, and YAML."""
