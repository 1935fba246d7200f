"""The worlds that a simulated robot can be in, by name."""

from __future__ import annotations

from collections.abc import Callable

from pkm_description import Description
from pkm_description.errors import MissingWorldError, SimulationError
from pkm_dynamics.drive_types import COMMANDS, FORCES, VALVES
from pkm_dynamics.simulation import PlantEffects, SimulatedPlant
from pkm_dynamics.simulation.hydraulic_plant import HydraulicPlant
from pkm_dynamics.worlds import MUJOCO, WORLDS
from pkm_dynamics.worlds.dart_plant import DartPlant, dart_module
from pkm_dynamics.worlds.equations_plant import EquationsPlant
from pkm_dynamics.worlds.gazebo_plant import GazeboPlant, gazebo_module
from pkm_dynamics.worlds.stepped_plant import STEP, SteppedPlant

STEPPED: dict[str, type[SteppedPlant]] = {
    'gazebo': GazeboPlant,
    'dart': DartPlant,
    'equations': EquationsPlant,
}
#: Gap [m] of the loops beyond which something is wrong: welds of Dart give way at speed.
GAPS = {MUJOCO: 1e-5, 'gazebo': 1e-3, 'dart': 1e-3, 'equations': 1e-5}
_NEEDED: dict[str, Callable[[], object]] = {'gazebo': gazebo_module, 'dart': dart_module}


def why_missing(world: str) -> str:
    """Why a world cannot be had here; empty where it can."""
    try:
        _NEEDED.get(world, lambda: None)()
    except MissingWorldError as error:
        return str(error)
    return ''


def plant_in(
    world: str,
    description: Description,
    effects: PlantEffects | None = None,
    seed: int = 0,
    step: float = STEP,
    substep: float = 1e-4,
    drives: str = FORCES,
) -> SimulatedPlant | HydraulicPlant | SteppedPlant:
    """Return a robot at home and at rest in a world; `step` and `substep` in s.

    Its `drives` take forces, or the signals of valves, in MuJoCo alone.

    Stribeck friction, cogging and other forces of `effects` but friction are those of MuJoCo alone.
    Raises SimulationError for an unknown world, drives that it does not have or steps that do not
    divide, MissingWorldError where the world is not installed.
    """
    if drives not in COMMANDS:
        raise SimulationError(f"unknown drives '{drives}'; valid are {', '.join(COMMANDS)}")
    if drives == VALVES:
        if world != MUJOCO:
            raise SimulationError(f"valves are simulated in the world '{MUJOCO}' alone")
        return HydraulicPlant(description, effects, seed, step, substep)
    if world == MUJOCO:
        return SimulatedPlant(description, effects, seed, step, substep)
    if world not in STEPPED:
        raise SimulationError(f"unknown world '{world}'; the worlds are {', '.join(WORLDS)}")
    substeps = round(step / substep)
    if substeps < 1 or abs(substeps * substep - step) > 1e-6 * step:
        raise SimulationError(
            f'the control interval ({step} s) must be a whole number of substeps ({substep} s)'
        )
    return STEPPED[world](description, step, substeps, effects, seed)
