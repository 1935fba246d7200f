"""Standard deviations that a motion and the covariance of the force noise lead to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_bringup.studies.excitation_runs import SAMPLING_RATE
from pkm_description.errors import EstimationError
from pkm_dynamics.simulation import PlantEffects
from pkm_identification.excitation import ExcitationDesign
from pkm_identification.excitation.search.criteria import figures

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Information:
    """What one period of the exact motion tells, all samples used, with force noise alone.

    Attributes
    ----------
    deviations : {estimator: (n,)}
        Gauss-Markov: roots of the diagonal of F^-1, F = sum Psi^T S^-1 Psi with S the
        covariance of the noise. Least squares: of H (sum Psi^T S Psi) H, with
        H = (sum Psi^T Psi)^-1.
    figures : {criterion: value}
        See `criteria.figures`: of F; the condition numbers are those of Psi itself.
    """

    deviations: dict[str, Array]
    figures: dict[str, float]


def force_noise(model: Any) -> Array:
    """Return the covariance (n_a, n_a) [N^2] of the simulated robot's force noise.

    Raises
    ------
    EstimationError
        A drive has none.
    """
    covariance = PlantEffects.from_description(model.description).force_covariance
    if np.linalg.eigvalsh(covariance)[0] <= 0.0:
        raise EstimationError(
            f"robot '{model.description.name}' declares no force noise (simulation.force_noise) "
            'for each of its drives: there is nothing to compare'
        )
    return covariance


def predict(model: Any, design: ExcitationDesign) -> Information:
    """Return what one period of a design tells about the base parameters."""
    base = model.base_parameters(shared=True, reduced=True)
    samples = round(design.period * SAMPLING_RATE)
    motion = design.trajectory.motion(np.arange(samples) / SAMPLING_RATE, model)
    psi = base.regressor(motion)
    noise = force_noise(model)
    whitening = np.linalg.inv(np.linalg.cholesky(noise))
    plain = psi.reshape(-1, psi.shape[-1])
    white = (whitening @ psi).reshape(plain.shape)
    # H Psi^T = pinv(Psi), whose rows are long where Psi hardly shows a parameter
    spread = _inverse(plain).reshape(-1, *psi.shape[:2])
    found = {
        'ls': np.sqrt(np.einsum('nka,ab,nkb->n', spread, noise, spread, optimize=True)),
        'gauss_markov': np.linalg.norm(_inverse(white), axis=1),
    }
    conditions = ('condition_number', 'condition_number_scaled')
    return Information(found, figures(white) | {key: figures(plain)[key] for key in conditions})


def _inverse(rows: Array) -> Array:
    """Return the pseudo-inverse (n, m) of full rank, columns scaled first."""
    scale = np.linalg.norm(rows, axis=0)
    return np.asarray(np.linalg.pinv(rows / scale) / scale[:, None])
