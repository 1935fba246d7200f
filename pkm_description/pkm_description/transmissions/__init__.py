"""Transmissions between motors and joints."""
