"""The smallest condition number under the limits of the joints, and what bounds it."""

import json
from dataclasses import replace

import numpy as np
import pytest
from dense_limits import excesses

import pkm_description
from pkm_bringup import cli
from pkm_bringup.studies.conditioning_study import joint_limits_only
from pkm_dynamics import ClosedChainModel
from pkm_identification.excitation import DesignLimits, ExcitationDesign


@pytest.fixture(scope='module')
def found(tmp_path_factory):
    """The study of the 3-RPS in small, and the design it wrote."""
    folder = tmp_path_factory.mktemp('conditioning')
    design, told = folder / 'design.yaml', folder / 'told.json'
    arguments = ['study', 'conditioning', '--starts', '1', '--harmonics', '4', '--workers', '1']
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr('pkm_bringup.studies.conditioning_study.ITERATIONS', 6)
        patch.setattr('sys.stdout', told.open('w'))
        assert cli.main([*arguments, '--output', str(design), '--json']) == 0
    return json.loads(told.read_text()), design


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(joint_limits_only(pkm_description.load('rps_upv'), 'symmetric'))


def test_the_figure_is_that_of_the_regressor(found, model):
    content, path = found
    base = model.base_parameters(shared=False, reduced='model_1')
    assert content['parameters'] == base.rank == 25 + 9  # rigid bodies, and three a drive
    design = ExcitationDesign.load(path, model)
    rows = base.regressor(design.motion(np.arange(content['samples']) / 100.0))
    _, values, vectors = np.linalg.svd(rows.reshape(-1, base.rank), full_matrices=False)
    assert content['condition_number'] == pytest.approx(values[0] / values[-1], rel=1e-6)
    least, most = content['directions'][0], content['directions'][-1]
    for direction, at in ((least, -1), (most, 0)):
        assert direction['singular_value'] == pytest.approx(values[at], rel=1e-6)
        for name, part in direction['components'].items():
            assert abs(part) == pytest.approx(abs(vectors[at][base.names.index(name)]), abs=1e-6)


def test_the_limits_of_the_joints_hold_and_the_box_does_not_bind(found, model):
    _, path = found
    design = ExcitationDesign.load(path, model)
    limits = DesignLimits(force_margin=0.0, velocity_margin=0.0, stroke_margin=0.0)
    worst = excesses(model, design.motion, limits, design.period, rate=1000.0)
    assert all(value <= 1e-5 for value in worst.values()), worst
    assert not {'workspace', 'tilt'} & set(design.margins)
    assert {'stroke', 'velocity', 'force', 'aperture'} <= set(design.margins)


def test_friction_as_described_has_two_coefficients_a_drive():
    description = pkm_description.load('rps_upv')
    model = ClosedChainModel(joint_limits_only(description, 'described'))
    assert model.base_parameters(shared=False, reduced='model_1').rank == 37
    kept = joint_limits_only(description, 'symmetric')
    assert kept.sidecar['workspace'] == {'aperture': description.sidecar['workspace']['aperture']}
    bare = replace(description, sidecar={})
    assert joint_limits_only(bare, 'described').sidecar == {'workspace': {}}
