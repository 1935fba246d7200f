"""Identified models as messages."""

from __future__ import annotations

from pkm_identification.result.result import IdentificationResult
from pkm_msgs.msg import DynamicParameters


def to_message(result: IdentificationResult) -> DynamicParameters:
    """Return the message that a controller takes; the stamp is left to the sender.

    Friction of the drives that is not linear stands among the standard parameters.
    """
    parameters = result.controller_parameters
    return DynamicParameters(
        robot=result.robot,
        description_digest=result.digest,
        estimator=result.estimator,
        name=result.names,
        unit=result.units,
        value=result.values.tolist(),
        covariance=result.covariance.ravel().tolist(),
        standard_name=list(parameters),
        standard_value=list(parameters.values()),
        is_physical=result.is_physical,
    )
