"""Problems whose free parameters are chosen anew, against problems built with that choice."""

import numpy as np
import pytest

from pkm_identification.estimators.linear import ls
from pkm_identification.regression.problem import build_problem
from pkm_identification.regression.selection import build_selection
from pkm_identification.signals import SignalOptions, process


@pytest.mark.parametrize('options', [{}, {'method': 'filter', 'cutoff': 40.0}])
def test_selected_parameters(record, slider_model, options):
    signals = process(record(periods=5, seed=6), SignalOptions(**options))
    before = build_problem(signals, slider_model, fixed={'a.m': (2.2, 0.1)})
    fixed = {'right.*': 0.0, 'c.m': (1.4, 0.2)}
    nominal = slider_model.nominal_parameters
    selection = build_selection(slider_model.parameter_names, nominal, None, fixed)
    found = before.selected(selection)
    expected = build_problem(signals, slider_model, fixed=fixed)
    assert found.names == expected.names == ['a.m', 'b.m', 'left.coulomb', 'left.viscous']
    np.testing.assert_allclose(found.regressor, expected.regressor, rtol=1e-12)
    np.testing.assert_allclose(found.forces, expected.forces, rtol=1e-9, atol=1e-9)
    for matrices in zip(
        (run.folded.triangle for run in found.runs),
        (run.folded.triangle for run in expected.runs),
        strict=True,
    ):
        gram = [matrix.T @ matrix for matrix in matrices]
        np.testing.assert_allclose(*gram, rtol=1e-9, atol=1e-9 * np.abs(gram[0]).max())
    np.testing.assert_allclose(ls(found).values, ls(expected).values, rtol=1e-8)
