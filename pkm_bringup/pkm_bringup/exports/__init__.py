"""Robots and identified models as files of other tools, and whether those say the same."""
