"""Where the platform of a robot can be, as a surface or as points."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pkm_bringup.scene.meshes import Mesh, cell_surface
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.analysis.reachability import CRITERIA
from pkm_dynamics.analysis.workspace import region, workspace, workspace_grid

POINTS = 25  # a side of the grid: 5 s of a hexapod
BORDER = 0.5  # of the declared box around it on each side: the robot may reach farther
SAMPLES = 1500  # random positions of the actuators


def reach(model: ClosedChainModel, rotation: ArrayLike | None = None, points: int = POINTS) -> Mesh:
    """Return where the platform can be: strokes, joints, apertures and singularities allow it.

    With six degrees of freedom the surface around the positions that it reaches with one rotation
    (3, 3), that of home by default, exact to the cells of a grid of so many `points` a side. With
    fewer, positions at random places of the actuators, as points. The box that the YAML declares
    does not count. KinematicsError where actuators without limits leave no region to look at.
    """
    declared = 1 + CRITERIA.index('workspace')
    if model.platform_determines_joints:
        lower, upper = region(model, 'platform')
        wide = BORDER * (upper - lower)
        ends = lower - wide, upper + wide
        ticks, verdict = workspace_grid(model, points, rotation, *ends)
        return cell_surface((verdict == 0) | (verdict == declared), ticks)
    found = workspace(model, SAMPLES, coordinates='actuators').samples
    good = np.isin(found.first_failure, ('', CRITERIA[declared - 1]))
    return Mesh(found.position[good], np.zeros((0, 3), dtype=np.int64))
