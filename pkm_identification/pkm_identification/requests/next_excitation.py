"""The excitation after an identification: of the robot that was found, for what is still unsure."""

from __future__ import annotations

from typing import Any

import numpy as np

from pkm_dynamics import ClosedChainModel
from pkm_dynamics.equations.actuator_inertia import effective_inertia
from pkm_identification.excitation import DesignLimits, ExcitationDesign, design_excitation
from pkm_identification.excitation.search.workers import Cancel, Progress
from pkm_identification.excitation_options import UNKNOWN
from pkm_identification.result.identified_robot import identified_robot
from pkm_identification.result.result import IdentificationResult


def next_excitation(
    result: IdentificationResult,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    **search: Any,
) -> ExcitationDesign:
    """Design a motion that adds most to what an identification has told.

    The forces are those of the identified robot, with three of their standard deviations kept free.
    The servo has the gains that a controller takes from the description. The noise is that of the
    residuals. `search` are options of `design_excitation`, whose errors are raised, as `progress`
    and `cancel`; DescriptionError where no description can have the identified parameters.
    """
    found = ClosedChainModel(identified_robot(result).description)
    weaker = effective_inertia(result.model) / effective_inertia(found)
    limits = DesignLimits(
        force_uncertainty=_force_uncertainty(result, found), gain_scale=float(weaker.min())
    )
    noise = np.asarray(result.residual_rms) ** 2
    return design_excitation(
        found,
        limits=limits,
        prior=result,
        noise_covariance=np.diag(noise) if (noise > 0.0).all() else None,
        progress=progress,
        cancel=cancel,
        **search,
    )


def _force_uncertainty(result: IdentificationResult, found: ClosedChainModel) -> Any:
    """Covariance (n_p, n_p) of the standard parameters as forces feel them.

    A fraction, as for a robot without a model, where something is not known at all.
    """
    if not np.isfinite(result.covariance).all():
        return UNKNOWN['force_uncertainty']
    own = dict(zip(result.parameter_names, result.columns, strict=True))
    rows = np.array([own.get(name, np.zeros(len(result.values))) for name in found.parameter_names])
    return rows @ result.covariance @ rows.T
