"""Motions of the papers, fitted into the limits of any robot: `preset`."""

from pkm_dynamics.presets.catalogue import PRESET_OPTIONS, preset, preset_names

__all__ = ['PRESET_OPTIONS', 'preset', 'preset_names']
