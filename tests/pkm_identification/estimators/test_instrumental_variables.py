"""Instruments from the other periods: no bias where noise of positions is in the regressor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pkm_description.errors import EstimationError
from pkm_identification import identify
from pkm_identification.datasets import Recording
from pkm_identification.estimators.instrumental_variables import iv
from pkm_identification.estimators.linear import gauss_markov
from pkm_identification.regression.problem import build_problem
from pkm_identification.signals import SignalOptions, process

RUNS, PERIODS, HARMONICS = 30, 8, 30
SMOOTH = {'*.coulomb': 0.0}


def masses(model, motion, seed, solve):
    """Estimated masses (3,) relative to the true ones, with position noise of 1 mm at 100 Hz.

    All harmonics are kept, so that the noise in the accelerations attenuates the inertia.
    """
    random = np.random.default_rng(seed)
    time = np.arange(PERIODS * 100) / 100.0
    exact = motion(time)
    forces = model.regressor(exact) @ (model.nominal_parameters * [1, 1, 1, 0, 1, 0, 1])
    mixing = np.linalg.cholesky([[1.0, 0.8], [0.8, 1.0]])
    positions = exact.q + 1e-3 * random.normal(size=forces.shape) @ mixing.T
    forces = forces + random.normal(size=forces.shape) @ mixing.T
    data = Recording.from_arrays(time, ('left', 'right'), positions, forces, period=1.0)
    signals = process(data, SignalOptions(harmonics=HARMONICS))
    whole = replace(signals, measured_harmonics=np.ones(HARMONICS + 1, dtype=bool))
    problem = build_problem(whole.with_periods(np.ones(PERIODS, dtype=bool)), model, fixed=SMOOTH)
    return solve(problem).values[:3] / problem.nominal[:3]


def test_instruments_remove_the_bias_of_position_noise(slider_model, motion):
    """Seven standard errors of the mean of 30 runs: a chance below 1e-11 for each mass.

    Gauss-Markov finds the mass that both carry 3.5 % too small, and a period's own data as
    its instruments would find it 23 % too small.
    """
    mean = {
        solve: np.mean([masses(slider_model, motion, k, solve) for k in range(RUNS)], axis=0)
        for solve in (iv, gauss_markov)
    }
    limits = 7 * np.array([0.0008, 0.0005, 0.0023])
    assert (np.abs(mean[iv] - 1) < limits).all()
    assert mean[gauss_markov][2] < 0.99


def test_one_period_has_no_instruments(record, slider_model):
    with pytest.raises(EstimationError, match='at least two periods'):
        identify(record(periods=1), slider_model, 'iv')
