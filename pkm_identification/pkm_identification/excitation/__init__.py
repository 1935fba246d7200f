"""Design of motions that identify well, within the limits of the robot."""

from pkm_identification.excitation.design import design_excitation
from pkm_identification.excitation.excitation_design import ExcitationDesign
from pkm_identification.excitation.search.constraints import DesignLimits
from pkm_identification.excitation.shipped import (
    excitation_path,
    load_excitation,
    shipped_excitations,
)

__all__ = [
    'DesignLimits',
    'ExcitationDesign',
    'design_excitation',
    'excitation_path',
    'load_excitation',
    'shipped_excitations',
]
