"""Maximum likelihood with noise of motion and forces."""
