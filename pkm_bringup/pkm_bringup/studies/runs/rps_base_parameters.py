"""Base parameters of the 3-RPS as Table 1 of [M] combines them, in the frames of `rps_upv`.

Bodies 1, 4 and 6 of [M] are the stators of the legs, 2, 5 and 7 the sliders, 3 is the platform;
leg 1 carries it. The platform's frame is that of [M]: origin in the first spherical joint, x to
the second, y towards the third. A limb of [M] has other axes than one of the library: its first
moments along the strut are `mz` here, those across it `mx`, its inertia about the revolute axis is
`Iyy`. Signs of axes that [M] does not tell change no row space.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array

Row = dict[str, float]

LARGEST_RESIDUAL = 1e-9  # of a row's length, by which it lies in a row space
MODEL_4 = (12, 17, 23)  # numbers in Table 1 of what [M] Table 8 lists
BOUNDED_BY_BODIES = (16, 22)  # [M] Table 5: inertias of limbs about their revolute axes


def table_of_mata(model: ClosedChainModel) -> list[Row]:
    """Return the 25 combinations of [M] Table 1, in its order, as factors of our parameters."""
    side = float(model.description.constraints[1].child_origin.position[0])
    height = side * np.sqrt(3) / 2
    carried = {'leg1_slider.m': 1.0, 'platform.m': 1.0}

    def limb(leg: str) -> list[Row]:
        turning = {f'{leg}_stator.Iyy': 1.0, f'{leg}_slider.Iyy': 1.0}
        stator, slider = (
            [{f'{leg}_{part}.{axis}': 1.0} for axis in ('mx', 'mz')]
            for part in ('stator', 'slider')
        )
        return [*stator, turning, *slider]

    def less(factor: float) -> Row:
        return {name: -factor * value for name, value in carried.items()}

    second, third = limb('leg2'), limb('leg3')
    return [
        *limb('leg1'),
        {'platform.Ixx': 1.0, 'platform.my': -height},
        {'platform.Ixy': 1.0, 'platform.my': side / 2},
        {'platform.Ixz': 1.0},
        {'platform.Iyy': 1.0, 'platform.my': height, **less(side**2)},
        {'platform.Iyz': 1.0},
        {'platform.Izz': 1.0, **less(side**2)},
        {'platform.mx': 1.0, 'platform.my': 1 / np.sqrt(3), **less(side)},
        {'platform.mz': 1.0},
        *second[:3],
        {'leg2_slider.m': 1.0, 'platform.my': -1 / height, **carried},
        *second[3:],
        *third[:3],
        {'leg3_slider.m': 1.0, 'platform.my': 1 / height},
        *third[3:],
    ]


def combinations_of_mata(model: ClosedChainModel) -> Array:
    """Return Table 1 of [M] as rows (25, n_p) over the model's standard parameters."""
    place = {name: i for i, name in enumerate(model.parameter_names)}
    rows = np.zeros((25, len(place)))
    for row, factors in zip(rows, table_of_mata(model), strict=True):
        for name, factor in factors.items():
            row[place[name]] = factor
    return rows


def compared_with_mata(model: ClosedChainModel) -> dict[str, Any]:
    """Compare the rigid-body base parameters with Table 1 and Table 2 of [M].

    `names` and `papers`: combinations of the project and of [M]. `rank`: of both together, equal to
    the number of either where they span the same space; `residual`: the largest part of a row of
    [M] outside of the project's, relative to its length. `counts`: rigid-body base parameters by
    model, `shared` with equal legs.
    """
    base = model.base_parameters(shared=False, reduced=False)
    ours, theirs = base.matrix[base.is_rigid_body], combinations_of_mata(model)
    outside = theirs - theirs @ np.linalg.pinv(ours) @ ours
    texts = [text for text, own in zip(base.expressions, base.is_rigid_body, strict=True) if own]
    counts = {
        name: {
            kind: int(model.base_parameters(shared=shared, reduced=name).is_rigid_body.sum())
            for kind, shared in (('single', False), ('shared', True))
        }
        for name in ('model_1', 'model_2', 'model_3', 'model_4')
    }
    residual = np.linalg.norm(outside, axis=1) / np.linalg.norm(theirs, axis=1)
    return {
        'count': len(ours),
        'papers_count': len(theirs),
        'rank': int(np.linalg.matrix_rank(np.vstack([ours, theirs]))),
        'residual': float(residual.max()),
        'inside': int(np.sum(residual < LARGEST_RESIDUAL)),
        'names': texts,
        'papers': [_text(row) for row in table_of_mata(model)],
        'counts': counts,
    }


def _text(row: Row) -> str:
    """A combination as a reader writes it."""
    parts = [f'{factor:+.4g}*{name}' for name, factor in row.items()]
    joined = ' '.join(parts).replace('+', '+ ').replace('-', '- ').replace(' 1*', ' ')
    return joined.removeprefix('+ ')
