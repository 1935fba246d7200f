"""Design of motions that identify well, within the limits of the robot."""

from pkm_identification.excitation.design import design_excitation
from pkm_identification.excitation.excitation_design import (
    ExcitationDesign,
    excitation_path,
    load_excitation,
    shipped_excitations,
)
from pkm_identification.excitation.search.constraints import DesignLimits

__all__ = [
    'DesignLimits',
    'ExcitationDesign',
    'design_excitation',
    'excitation_path',
    'load_excitation',
    'shipped_excitations',
]
