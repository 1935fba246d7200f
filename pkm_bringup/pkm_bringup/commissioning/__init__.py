"""The check-list of a robot that is switched on for the first time."""
