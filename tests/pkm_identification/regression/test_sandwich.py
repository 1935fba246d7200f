"""Covariances of estimates whose parameters the data hardly tell apart."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_identification import identify


@pytest.mark.parametrize('share', [1e-3, 1e-6, 1e-8])
def test_variances_of_parameters_that_are_hardly_told_apart(
    record, slider_model, monkeypatch, share
):
    """A column of the regressor is another one but for a share, as with 1.5708 for pi / 2.

    The deviation of the parameter goes with one over the share, and no variance is negative.
    """
    plain = type(slider_model).regressor

    def regressor(self, motion):
        found = plain(self, motion)
        found[:, :, 2] = found[:, :, 0] + share * found[:, :, 2]
        return found

    monkeypatch.setattr(type(slider_model), 'regressor', regressor)
    data = record(periods=4, force_noise=0.5)
    result = identify(data, slider_model, method='filter', cutoff=15.0)
    variances = np.diag(result.covariance)
    assert (variances > 0).all()
    lowest, highest = result.names.index('c.m'), result.names.index('b.m')
    scaled = share * result.standard_deviation[lowest] / result.standard_deviation[highest]
    assert 0.3 < scaled < 10
