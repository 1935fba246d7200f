"""Write the table of exported MJCF under several versions of MuJoCo into the page of exporters.

    python scripts/mujoco_versions.py [VERSION ...]

Each version is installed by pip into a folder that is thrown away. The forces that hold a robot at
home are put on its motors in the keyframe `home`, and the robot is simulated for 0.2 s: the
table says by how much joints have moved and loops have opened. It takes two minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from page_tables import put_table

import pkm_description
from pkm_bringup.exports.simulator_files import KEYFRAME, holding_forces
from pkm_description.exporters import build_mjcf
from pkm_dynamics import ClosedChainModel

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / 'pkm_description' / 'doc' / 'exporters.md'
BEGIN = '<!-- versions of MuJoCo -->'
VERSIONS = ('3.3.0', '3.3.7', '3.8.1', '3.12.0', '3.17.0', '4.0.0')
DURATION = 0.2  # [s] in which gravity alone moves a robot by 0.2 m
# Runs with the version alone: reads the robots, prints what moved [m, rad] and opened [m, rad].
HELD = """
import json, sys
import mujoco
import numpy as np
for robot in json.load(sys.stdin):
    try:
        world = mujoco.MjModel.from_xml_string(robot['text'])
        data = mujoco.MjData(world)
        mujoco.mj_resetDataKeyframe(world, data, world.key(robot['keyframe']).id)
        for joint, force in robot['forces'].items():
            data.ctrl[world.actuator(joint).id] = force
    except (ValueError, KeyError) as error:
        print(mujoco.__version__, robot['name'], error, file=sys.stderr)
        continue
    begin = data.qpos.copy()
    mujoco.mj_step(world, data, round(robot['duration'] / world.opt.timestep))
    mujoco.mj_forward(world, data)
    closing = data.efc_pos[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]
    found = np.abs(data.qpos - begin).max(), np.abs(closing).max(initial=0.0)
    print(json.dumps([mujoco.__version__, robot['name'], *map(float, found)]), flush=True)
"""


def robots() -> list[dict[str, object]]:
    """Return the exported robots of the library that are driven in full, and what holds them."""
    found: list[dict[str, object]] = []
    for name in (*pkm_description.library(), *pkm_description.examples()):
        description = pkm_description.load(name)
        if description.redundant_actuation is not None:
            continue  # which of their drives bear the robot is a choice
        model = ClosedChainModel(description)
        if len(description.driven_joints) < model.n_a:
            continue  # something of it falls, whatever its drives do
        forces = dict(zip(model.actuated_joints, holding_forces(model).tolist(), strict=True))
        text = build_mjcf(description, shapes=False).text
        found.append(
            {
                'name': name,
                'text': text,
                'keyframe': KEYFRAME,
                'forces': forces,
                'duration': DURATION,
            }
        )
    return found


def held(given: list[dict[str, object]], folder: Path | None = None) -> list[list[object]]:
    """Return version, robot, and what moved and opened, with the MuJoCo of a folder, or ours."""
    paths = [str(folder)] if folder is not None else []
    command = [sys.executable, '-c', f'import sys\nsys.path[:0] = {paths!r}\n{HELD}']
    done = subprocess.run(
        command, input=json.dumps(given), stdout=subprocess.PIPE, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def row(given: list[dict[str, object]], version: str) -> str:
    """Return the line of one version."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, '-m', 'pip', 'install', '--quiet', '--no-deps', '--target', folder]
        subprocess.run([*pip, f'mujoco=={version}'], check=True)
        found = held(given, Path(folder))
    assert {each[0] for each in found} <= {version}
    figures = ['-', '-']
    if found:
        sizes = np.array([each[2:] for each in found], dtype=float)
        worst = np.argmax(np.where(np.isfinite(sizes), sizes, np.inf), axis=0)
        figures = [f'{sizes[i, k]:.0e} (`{found[i][1]}`)' for k, i in enumerate(worst)]
    return f'| {version} | {len(found)} of {len(given)} | ' + ' | '.join(figures) + ' |'


def main(versions: list[str]) -> None:
    """Write the table."""
    given = robots()
    lines = ['| MuJoCo | robots loaded | moved at most [m, rad] | loops opened at most [m, rad] |']
    lines.append('|---|---|---|---|')
    for version in versions or VERSIONS:
        lines.append(row(given, version))
        print(lines[-1], flush=True)
    put_table(PAGE, BEGIN, lines)


if __name__ == '__main__':
    main(sys.argv[1:])
