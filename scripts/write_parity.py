"""Write the table of exported models, read again by other tools, into the page of `pkm export`.

    python scripts/write_parity.py [ROBOT ...]

Every robot with a shipped excitation runs it with noise on the forces and is identified by
`feasible`, whose model is exported in all formats, and by `wls`, whose model no real bodies may
have. The table says by how much the forces of the files differ from those of the model, and those
of the nearest real bodies from those of `wls`. It takes less than a minute, and Pinocchio.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from page_tables import put_table

import pkm_description
from pkm_bringup.exports.export_parity import MOTIONS, export_parity
from pkm_description import Description
from pkm_description.description import DriveTerms
from pkm_description.friction import without_friction
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.random_motion import random_motion
from pkm_identification import IdentificationResult, identify, load_excitation
from pkm_identification.datasets import Recording
from pkm_identification.excitation.excitation_design import shipped_excitations
from pkm_identification.result.identified_robot import identified_robot

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / 'pkm_bringup' / 'doc' / 'workflow.md'
BEGIN = '<!-- parity of exports -->'
NOISE = 0.01  # of the forces' own spread
PERIODS, SAMPLES = 2, 2000  # of the excitation; samples a period
# The form `gazebo` of SDF has heavier stand-ins and rotors with angular momentum.
FORMS = (('urdf', 'closed'), ('mjcf', 'closed'), ('sdf', 'graph'))
HEAD = '| robot | parameters | URDF | URDF, Pinocchio | MJCF, MuJoCo | SDF | `wls` made physical |'


def recorded(name: str, model: ClosedChainModel) -> Recording:
    """Return a run of a robot's shipped excitation, with noise on its forces."""
    design = load_excitation(name)
    random = np.random.default_rng(0)
    time = np.arange(PERIODS * SAMPLES) * design.period / SAMPLES
    motion = design.motion(time % design.period, model)
    forces = model.inverse_dynamics(motion)
    forces = forces + NOISE * forces.std(axis=0) * random.normal(size=forces.shape)
    names, positions = tuple(model.actuated_joints), model.actuator_states(motion).positions
    recording = Recording.from_arrays(time, names, positions, forces, period=design.period)
    return recording.for_model(model)


def bodies_only(description: Description) -> Description:
    """Return a robot without friction, rotors and springs: what Pinocchio takes from a URDF."""
    bare = without_friction(description)
    bodies = (replace(each, rotor_inertia=None, terms=DriveTerms()) for each in bare.actuators)
    return replace(bare, actuators=tuple(bodies), transmissions=())


def in_pinocchio(result: IdentificationResult, robot: Description) -> float:
    """Return the largest difference in Pinocchio, bodies alone, of the largest force of a drive."""
    sys.path.insert(0, str(ROOT / 'tests' / 'helpers'))
    from pinocchio_oracle import PinocchioOracle

    exported = pkm_description.build_export(robot, 'urdf')
    oracle = PinocchioOracle(pkm_description.loads(exported.text, exported.sidecar))
    model = ClosedChainModel(bodies_only(robot))
    motion = random_motion(result.model, MOTIONS, 0)
    expected = model.inverse_dynamics(motion)
    found = np.array([oracle.forces(model, motion, k) for k in range(len(motion))])
    size = np.abs(result.as_physical().predict(motion)).max(axis=0)
    return float((np.abs(found - expected) / size).max())


def row(name: str) -> str:
    """Return the line of one robot."""
    model = ClosedChainModel(pkm_description.load(name))
    recording = recorded(name, model)
    result, free = (identify(recording, model, each) for each in ('feasible', 'wls'))
    robot = identified_robot(result)
    cells = []
    for to, form in FORMS:
        exported = pkm_description.build_export(robot.description, to, form)
        parity = export_parity(result, robot.description, exported, to)
        # what is above a millionth is friction that the format lacks
        whole = f'{parity.largest:.0e}'
        cells.append(f'{whole}; {parity.rigid:.0e}' if parity.largest > 1e-9 else whole)
    cells.insert(1, f'{in_pinocchio(result, robot.description):.0e}')
    assert not parity.moved
    bodies = identified_robot(free).description
    moved = export_parity(free, bodies, pkm_description.build_export(bodies, 'urdf'), 'urdf').moved
    cells.append(f'{moved:.0e}' if moved else '-')
    return f'| `{name}` | {len(result.names)} | ' + ' | '.join(cells) + ' |'


def main(names: list[str]) -> None:
    """Write the table of these robots, of all where none is named."""
    lines = [HEAD, '|---' * HEAD.count(' |') + '|']
    for name in names or shipped_excitations():
        lines.append(row(name))
        print(lines[-1], flush=True)
    put_table(PAGE, BEGIN, lines)


if __name__ == '__main__':
    main(sys.argv[1:])
