"""Models of the library's robots and of the mechanisms without symmetry, built once a process."""

from __future__ import annotations

from functools import lru_cache

import closed_chains
import mechanisms

import pkm_description
from pkm_description import Description
from pkm_dynamics import ClosedChainModel


def rubbing_chain(kind: str) -> Description:
    """Close a chain by a constraint that rubs; one of its joints rubs more one way."""
    chain = closed_chains.closed_chain(kind)
    cut = '' if kind == 'fixed' else '<dynamics friction="0.3" damping="0.2"/>'
    lopsided = '{model: asymmetric, coulomb: 0.4, coulomb_negative: 0.2, viscous: 0.1}'
    return pkm_description.loads(
        chain.urdf.replace('</constraint>', f'{cut}</constraint>'),
        f'{chain.yaml_text}friction: {{joint2: {lopsided}}}\n',
    )


def rippling_five_bar() -> Description:
    """Give each drive of a five-bar an offset, a spring and force ripple."""
    ripple = {'period': 0.2, 'harmonics': [1, 3], 'cosine': [0.3, 0.1], 'sine': [-0.2, 0.05]}
    terms = {'offset': 0.4, 'stiffness': -1.5, 'rest': 0.1, 'ripple': ripple}
    return pkm_description.with_drive_terms(mechanisms.five_bar(), {'*': terms})


GEARS = """
transmissions:
  wrist:
    joints: [joint2, joint3]
    motors:
      one: {rotor_inertia: 4.0e-4, friction: {coulomb: 0.02, viscous: 0.001}}
      two: {rotor_inertia: 9.0e-4,
            friction: {model: asymmetric, coulomb: 0.03, coulomb_negative: 0.01, viscous: 0.002}}
    reduction: [[20, 0], [15, -18]]
  turret: {joints: [joint1], motors: {three: {rotor_inertia: 2.0e-4}}, reduction: -30}
"""


def geared_arm() -> Description:
    """Put gears between an arm and its motors, of which the last turns with two joints."""
    arm = mechanisms.serial_arm()
    return pkm_description.loads(arm.urdf, arm.yaml_text + GEARS)


MAKERS = {
    'geared_arm': geared_arm,
    'skew_hexapod': mechanisms.skew_hexapod,
    'tripod': mechanisms.tripod,
    'skew_five_bar': mechanisms.five_bar,
    'skew_arm': mechanisms.serial_arm,
    'rippling_five_bar': rippling_five_bar,
    'four_bar_universal': lambda: mechanisms.four_bar('universal'),
    **{f'chain_{kind}': lambda kind=kind: rubbing_chain(kind) for kind in closed_chains.CHAINS},
}
NAMES = (*pkm_description.library(), *MAKERS)


@lru_cache(maxsize=None)
def model_of(name: str) -> ClosedChainModel:
    """Return the model of a mechanism or of a robot of the library."""
    return ClosedChainModel(MAKERS[name]() if name in MAKERS else pkm_description.load(name))
