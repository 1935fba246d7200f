"""Stages end where all parameters together do; what is unknown makes friction depend on motion."""

from argparse import Namespace

import numpy as np
import pytest

from pkm_bringup.runner import Runner
from pkm_bringup.studies import stages_study as study
from pkm_bringup.studies.runs.plants import model_of, true_base_parameters
from pkm_bringup.views.study_views.study_tables import print_stages


@pytest.fixture(scope='module')
def content():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, 'MOTIONS', ('x', 'z'))
        chosen = ('gauss_markov', 'ukf', 'stages', 'turns')
        patch.setattr(study, 'ESTIMATES', {name: study.ESTIMATES[name] for name in chosen})
        yield study.run(Namespace(periods=2, passive=4.0, runs=1, seed=0), Runner(1))


def test_a_rough_start_is_another_start_of_the_same_parameters():
    exact, rough = model_of(study.ROBOT), study.start_model('rough')
    inertia, friction = study.STARTS['rough']
    base = [model.base_parameters(shared=True, reduced=True) for model in (exact, rough)]
    assert base[0].names == base[1].names
    assert np.allclose(base[0].matrix, base[1].matrix, atol=1e-9)
    factor = base[1].matrix @ rough.nominal_parameters / true_base_parameters(exact)
    mask = study.friction_mask(exact)
    assert np.allclose(factor[mask], friction) and mask.sum() == 12
    assert np.allclose(factor[~mask], inertia)


def test_the_filter_ends_at_least_squares_from_any_start(content):
    for row in content['estimates']:
        if row['method'] != 'turns':
            assert row['of_least_squares'] < 0.05


def test_the_stages_end_at_the_filter_of_all_parameters(content):
    for plant, motion in (('drives', 'x'), ('passive', 'z')):
        where = {'plant': plant, 'motion': motion, 'start': 'rough'}
        for figure in ('friction_error', 'residual_rms'):
            stages, ukf = (
                row[figure]
                for row in content['estimates']
                if row['method'] in ('stages', 'ukf') and where.items() <= row.items()
            )
            assert stages == pytest.approx(ukf, rel=1e-6)


def test_friction_depends_on_the_motion_where_passive_joints_rub(content):
    drives, passive = content['directions']
    assert (drives['plant'], passive['plant']) == ('drives', 'passive')
    assert 0.2 < drives['in_deviations'] < 2.0  # 12 differences: beyond 2 once in 1e7
    assert passive['in_deviations'] > 3.0 and passive['rms'] > 3 * drives['rms']


def test_friction_dominates(content):
    shares = content['friction_share']
    drives = [share for case, share in shares.items() if case.startswith('drives')]
    assert len(drives) == 2 and all(0.9 < share < 1.1 for share in drives)
    # friction of passive joints is none of the drives', but they have to overcome it
    assert shares['passive, x'] < shares['drives, x']


def test_the_tables_name_all_cases(content, capsys):
    print_stages(content)
    told = capsys.readouterr().out
    assert all(name in told for name in ('rough', 'passive', 'turns', '2-B', 'friction of the'))
