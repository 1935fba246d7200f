"""Identified models: parameters, uncertainty, provenance, files."""
