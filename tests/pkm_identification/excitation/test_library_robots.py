"""Designs for every robot of the library, and for one that comes as a bare URDF."""

import numpy as np
import pytest
from dense_limits import excesses
from every_model import model_of
from urdf_builder import control, joint, random_inertial, robot

from pkm_description import loads
from pkm_description.errors import UnderactuatedError
from pkm_dynamics import ClosedChainModel
from pkm_identification.excitation import DesignLimits, design_excitation

OPTIONS = {'starts': 1, 'iterations': 3, 'candidates': 1, 'workers': 1, 'sampling_rate': 200.0}
ROBOTS = [
    'delta',
    'five_bar',
    'ford',
    'four_bar',
    'h4',
    'hexel',
    'msi',
    'palida',
    'rps_upv',
    'serial_arm',
    'uf_pkm',
]


@pytest.mark.parametrize('name', ROBOTS)
def test_every_robot_gets_a_design_within_its_limits(name):
    model = model_of(name)
    base = model.base_parameters(shared=True, reduced=True)
    found = design_excitation(model, harmonics=3, **OPTIONS)
    assert found.figures['rank'] == base.rank
    count = found.figures['samples']
    W = base.regressor(found.motion(np.arange(count) / 200.0)).reshape(-1, base.rank)
    unit = W / np.linalg.norm(W, axis=0)
    expected = np.linalg.cond(unit)
    assert found.figures['condition_number_scaled'] == pytest.approx(expected, rel=1e-6)
    worst = excesses(model, found.motion, DesignLimits(), found.period, rate=2000.0)
    assert all(value <= 1e-5 for value in worst.values()), worst


def test_a_robot_with_a_free_joint_is_refused():
    with pytest.raises(UnderactuatedError, match='lower_joint'):
        design_excitation(model_of('cart_pendulum'), **OPTIONS)


def test_a_bare_urdf_with_a_sliding_and_a_turning_drive():
    """Without a sidecar: no workspace, no friction values, no home but zero."""
    rng = np.random.default_rng(3)
    parts = [
        '<link name="base_link"/>',
        f'<link name="carriage">{random_inertial(rng, 2.0, 0.1)}</link>',
        f'<link name="platform">{random_inertial(rng, 1.0, 0.1)}</link>',
        joint(
            'rail', 'prismatic', 'base_link', 'carriage', axis=(1, 0, 0), limit=(-0.5, 0.5, 2, 200)
        ),
        joint(
            'arm',
            'revolute',
            'carriage',
            'platform',
            (0.1, 0, 0),
            axis=(0, 1, 0),
            limit=(-1.5, 1.5, 6, 40),
        ),
        control(['rail', 'arm']),
    ]
    model = ClosedChainModel(loads(robot('stranger', parts)))
    found = design_excitation(model, harmonics=3, **OPTIONS)
    assert found.trajectory.coordinate_names == ('rail', 'arm')
    assert found.figures['rank'] == found.figures['parameters'] == len(found.names)
    assert {found.margins[kind]['unit'] for kind in ('stroke', 'velocity')} <= {
        'm',
        'rad',
        'm/s',
        'rad/s',
    }
    worst = excesses(model, found.motion, DesignLimits(), found.period, rate=2000.0)
    assert {'stroke', 'velocity', 'force'} <= set(worst)
    assert all(value <= 1e-5 for value in worst.values()), worst
