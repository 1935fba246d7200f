"""The verbs of `pkm excite`."""
