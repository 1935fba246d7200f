"""Prediction errors of many sets of base parameters on one recording, computed quickly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pkm_dynamics import ClosedChainModel
from pkm_dynamics.parameters.base_parameters import BaseParameters
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording
from pkm_identification.regression.run import Run, concatenated
from pkm_identification.regression.selection import build_selection
from pkm_identification.signals import SignalOptions, process
from pkm_identification.signals.bands import Band, FilterBand
from pkm_identification.validation.figures import relative_absolute_error
from pkm_identification.validation.reference import noise_free_forces


@dataclass(frozen=True)
class HeldOut:
    """Regressor and forces of one recording."""

    regressor: Array  # (n, n_a, r) of all base parameters; of long recordings some stretches
    forces: Array  # measured (n, n_a) [N, N m], averaged or filtered
    truth: Array | None  # noise-free forces (n, n_a) in the band, where they are known
    band: Band  # that the noise-free forces are compared in

    def errors(self, values: Array) -> dict[str, float]:
        """Relative absolute errors [M 33] of base parameters (r,), as `validate` gives them.

        `measured` against the measured forces, `truth` against noise-free ones in the band, where
        these are known.
        """
        predicted = self.regressor @ values
        found = {'measured': relative_absolute_error(predicted, self.forces)[1]}
        if self.truth is not None:
            if not isinstance(self.band, FilterBand):
                predicted = self.band.smooth(predicted)
            found['truth'] = relative_absolute_error(predicted, self.truth)[1]
        return found


def build_held_out(
    dataset: Recording,
    model: ClosedChainModel,
    base: BaseParameters,
    options: SignalOptions | None = None,
) -> HeldOut:
    """Prepare a recording, as measured, for predictions with base parameters of the model.

    DatasetError or EstimationError where data or options of the signals are unusable.
    """
    data = dataset.for_model(model)
    signals = process(data, options)
    nominal = np.asarray(base.matrix @ model.nominal_parameters)
    run = Run(signals, base, model, build_selection(base.names, nominal))
    band = signals.band
    if signals.is_long:
        rows = concatenated(list(run.folded.sample))
        return HeldOut(rows.regressor, rows.forces, None, band)
    rows, inside = run.in_time(), signals.usable
    regressor = rows.regressor
    if isinstance(band, FilterBand):
        regressor = band.smooth(regressor)[inside]
    truth = noise_free_forces(data.truth, signals)
    if truth is not None:
        truth = band.smooth(truth)[inside]
    return HeldOut(regressor, rows.forces[inside], truth, band)


def mean_errors(recordings: Sequence[HeldOut], values: Array) -> Mapping[str, float]:
    """Errors of several recordings, averaged; only figures that all of them have."""
    found = [each.errors(values) for each in recordings]
    shared = [key for key in ('measured', 'truth') if all(key in each for each in found)]
    return {key: float(np.mean([each[key] for each in found])) for key in shared} if found else {}
