"""Design an excitation of a robot."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pkm_dynamics import ClosedChainModel
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification.excitation import DesignLimits, ExcitationDesign, design_excitation
from pkm_identification.excitation.excitation_design import is_design
from pkm_identification.excitation.motion_figures import noise_covariance
from pkm_identification.excitation.search.workers import Found, Progress
from pkm_identification.excitation_options import LIMITS, NOISE, SEARCH
from pkm_identification.option import check_values
from pkm_identification.result.reading import load_result
from pkm_identification.result.result import IdentificationResult


@dataclass(frozen=True)
class DesignRequest:
    """What to design; in options, by name, None is the default. A wrong one: TrajectoryError."""

    criterion: str | Mapping[str, float] = 'd_optimal'  # or {name: weight}
    search: Mapping[str, Any] = field(default_factory=dict)  # options of `design_excitation`
    limits: Mapping[str, Any] = field(default_factory=dict)  # fields of `DesignLimits`
    noise: str = NOISE.default  # covariance of the forces: unit or simulated
    prior: str | None = None  # path of a design or model, to whose information this adds
    initial: FourierTrajectory | None = None  # a further start

    def __post_init__(self) -> None:
        """Check the options."""
        check_values((NOISE, *SEARCH, *LIMITS), {'noise': self.noise, **self.search, **self.limits})


def design_motion(
    request: DesignRequest,
    model: ClosedChainModel,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    found: Found | None = None,
) -> ExcitationDesign:
    """Search for a trajectory; its `origin` tells the noise, and whether it was cancelled.

    `progress`, `cancel` and `found` as of `design_excitation`.
    """
    limits = {name: value for name, value in request.limits.items() if value is not None}
    design = design_excitation(
        model,
        request.criterion,
        noise_covariance=noise_covariance(model, request.noise),
        limits=DesignLimits(**limits),
        prior=_prior(request.prior, model),
        initial=request.initial,
        progress=progress,
        cancel=cancel,
        found=found,
        **request.search,
    )
    return dataclasses.replace(design, origin={**design.origin, NOISE.name: request.noise})


def _prior(
    path: str | None, model: ClosedChainModel
) -> ExcitationDesign | IdentificationResult | None:
    if path is None:
        return None
    if Path(path).is_file() and is_design(Path(path)):
        return ExcitationDesign.load(path, model)
    return load_result(path, model)
