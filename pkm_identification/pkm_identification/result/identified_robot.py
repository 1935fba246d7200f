"""The robot that an identification found, as a description of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pkm_description import Description
from pkm_description.actuation.redundant_drives import refuse_redundant_actuation
from pkm_dynamics.parameters.rewritten_description import rewritten
from pkm_identification.result.result import IdentificationResult


@dataclass(frozen=True)
class IdentifiedRobot:
    """A description with identified numbers, and what it cannot say."""

    description: Description
    remarks: tuple[str, ...]  # where the numbers come from, and how sure they are
    losses: tuple[str, ...]  # of the model that it has not, one sentence each
    law_losses: tuple[str, ...] = ()  # likewise, of friction laws: C++ has these


def identified_robot(result: IdentificationResult) -> IdentifiedRobot:
    """Return the robot of a result: real bodies with its base parameters, friction and drives.

    Raises DescriptionError where no description can have the parameters, ModelFileError where the
    one that the result belongs to is not there.
    """
    refuse_redundant_actuation(result.model.description, 'a description of what was identified')
    constants = result.force_constants.by_joint if result.force_constants is not None else {}
    description = rewritten(
        result.model.description, result.controller_parameters, constants, source_of(result)
    )
    lost = tuple(_losses(result)), tuple(_law_losses(result))
    return IdentifiedRobot(description, tuple(_remarks(result)), *lost)


def source_of(result: IdentificationResult) -> str:
    """Say where the numbers of a result come from."""
    name = f" '{Path(result.file).name}'" if result.file else ''
    return f"identified, estimator '{result.estimator}', model{name} of robot '{result.robot}'"


def _remarks(result: IdentificationResult) -> list[str]:
    """One line for each identified number, with its standard deviation."""
    found = [
        source_of(result),
        'of the bodies only combinations are identified: these, with standard deviations',
    ]
    rows = zip(
        *(result.names, result.values, result.standard_deviation, result.units, result.expressions),
        strict=True,
    )
    found += [_line(*row) for row in rows]
    if (friction := result.drive_friction) is not None:
        own = zip(friction.names, friction.values, friction.standard_deviation, strict=True)
        pairs = zip(own, friction.units, strict=True)
        found += [_line(*row, unit) for row, unit in pairs]
    if (constants := result.force_constants) is not None:
        given = constants.joint_names, constants.values, constants.standard_deviation
        found += [
            _line(f'force constant of {name}', value, deviation, 'N/A or N m/A')
            for name, value, deviation in zip(*given, strict=True)
            if np.isfinite(value)
        ]
    return found


def _line(name: str, value: float, deviation: float, unit: str, expression: str = '') -> str:
    sure = f'+- {deviation:.2g}' if np.isfinite(deviation) else '(not determined by the data)'
    meaning = f' = {expression}' if expression not in ('', name) else ''
    return f'{name} {value:.6g} {sure} {unit}'.strip() + meaning


def _losses(result: IdentificationResult) -> list[str]:
    found = []
    if not result.is_physical:
        found.append(
            'no real bodies have the identified parameters: the nearest ones are written, '
            f'{result.consistent.distance:.3g} standard deviations away'
        )
    found += [
        f"payload '{payload.name}' is left out: the bodies are those of the robot without it"
        for payload in result.payloads
    ]
    return found


def _law_losses(result: IdentificationResult) -> list[str]:
    found = []
    if (friction := result.drive_friction) is not None:
        for joint, law in zip(friction.law.joint_names, friction.law.laws, strict=True):
            if law == 'stribeck':
                found.append(f"joint '{joint}': Stribeck friction is said by the YAML alone")
            elif law != 'coulomb_viscous':
                found.append(f"joint '{joint}': friction by the law '{law}' is left out")
    return found
