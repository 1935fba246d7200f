"""Slow motions by hand: single coordinates, and the way back into the strokes."""
