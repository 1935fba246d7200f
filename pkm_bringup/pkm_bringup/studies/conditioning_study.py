"""Smallest condition number of the regressor under the limits of the joints [M 4].

[M] names condition numbers of its trajectories for the 3-RPS, in SI units and for all
parameters at once (rigid bodies, friction, rotors), under limits of strokes, velocities and
the apertures of the spherical joints. Limits that only this project's description adds (a
workspace box and a largest tilt) are left out here.
"""

from __future__ import annotations

import dataclasses
from argparse import Namespace
from collections.abc import Collection
from typing import Any

from pkm_bringup.arguments import COUNT
from pkm_bringup.inputs import load_model
from pkm_bringup.runner import Runner
from pkm_bringup.studies.declaration import Output, Study, robot, seed
from pkm_description import Description, Joint
from pkm_dynamics import ClosedChainModel
from pkm_identification.excitation import DesignLimits, ExcitationDesign, design_excitation
from pkm_identification.option import TEXT, Option, choice

FRICTIONS = ('symmetric', 'described')
SAMPLING_RATE = 100.0  # [Hz]
ITERATIONS = 100
CONDITION_FACTOR = 10.0  # of home, for the distance to singular poses
FEW = 6  # components of a direction that are told
NAMED = ('least visible', 'second', 'third', 'most visible')  # directions that are told
CRITERION = 'condition_number'


def joint_limits_only(description: Description, friction: str) -> Description:
    """Return a description without box and tilt, with the friction that is asked for.

    `symmetric`: one Coulomb coefficient for both directions in the actuated joints that have
    friction; `described`: as the description says.
    """
    workspace = description.sidecar.get('workspace') or {}
    kept = {name: workspace[name] for name in ('aperture',) if name in workspace}
    if friction == 'symmetric':
        description = with_symmetric_friction(description)
    return dataclasses.replace(description, sidecar={**description.sidecar, 'workspace': kept})


def with_symmetric_friction(description: Description) -> Description:
    """Return a description whose drives have one Coulomb coefficient for both directions."""
    actuated = description.actuated_joints
    joints = tuple(_symmetric(joint, actuated) for joint in description.joints)
    return dataclasses.replace(description, joints=joints)


def _symmetric(joint: Joint, actuated: Collection[str]) -> Joint:
    if joint.name not in actuated or joint.friction is None:
        return joint
    return dataclasses.replace(
        joint, friction=dataclasses.replace(joint.friction, model='coulomb_viscous')
    )


def summary(found: ExcitationDesign) -> dict[str, Any]:
    """Return the figures, and the directions of the parameters that bound them, as plain data."""
    directions, figures = found.directions(), found.figures
    chosen = (*directions[:3], directions[-1])
    return {
        **{key: figures[key] for key in (CRITERION, f'{CRITERION}_scaled', 'samples')},
        'parameters': len(found.names),
        'names': found.names,
        'harmonics': found.trajectory.harmonics,
        'period': found.period,
        'margins': found.margins,
        'starts': found.origin['starts'],
        'cancelled': found.origin['cancelled'],
        'directions': [
            {
                'which': which,
                'singular_value': direction.information**0.5,
                'components': dict(list(direction.components.items())[:FEW]),
            }
            for which, direction in zip(NAMED, chosen, strict=True)
        ],
    }


def run(options: Namespace, runner: Runner) -> dict[str, Any]:
    """Search the motions within the joints' limits; return the best design."""
    description = load_model(options.robot).description
    no_margins = dict.fromkeys(('force_margin', 'velocity_margin', 'stroke_margin'), 0.0)
    found = design_excitation(
        ClosedChainModel(joint_limits_only(description, options.friction)),
        CRITERION,
        options.harmonics,
        sampling_rate=SAMPLING_RATE,
        limits=DesignLimits(condition_factor=CONDITION_FACTOR, **no_margins),
        shared=False,
        reduced=_reduced(options.reduced, description),
        starts=options.starts,
        iterations=ITERATIONS,
        seed=options.seed,
        workers=runner.workers,
        progress=runner.tell,
        cancel=runner.interrupted,
    )
    runner.files['design.yaml'] = found.save
    return summary(found) | {'robot': options.robot, 'friction': options.friction}


def _reduced(name: str | None, description: Description) -> bool | str:
    if name == 'none':
        return False
    models = list(description.sidecar.get('reduced_models') or {})
    return name or (models[0] if models else True)


STUDY = Study(
    'conditioning',
    'smallest condition number of all parameters under the limits of the joints',
    'Strokes, velocities, forces and apertures; box and tilt of the description are left out. '
    'Names the combinations of parameters that bound it.',
    (
        robot('rps_upv'),
        Option('harmonics', COUNT, 'of each coordinate', 11, '1'),
        Option(
            'reduced', TEXT, "reduced model of the description, or 'none'", None, '', 'its first'
        ),
        Option('friction', choice(*FRICTIONS), 'the same both ways, or as described', 'symmetric'),
        Option('starts', COUNT, 'optimised starts', 24, '1'),
        *seed('of the search'),
    ),
    run,
    Output.DESIGN,
    keeps_best='the best design so far is kept',
)
