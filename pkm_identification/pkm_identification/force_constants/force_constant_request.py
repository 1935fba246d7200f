"""Payloads and force constants that an identification is asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pkm_description import Payload, payload_of
from pkm_description.errors import DescriptionError, EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording
from pkm_identification.force_constants.drive_gains import EACH, DriveGains
from pkm_identification.force_constants.force_constants import ForceConstants, exact_constants
from pkm_identification.regression.prior import Prior
from pkm_identification.result.result import IdentificationResult


@dataclass(frozen=True)
class ForceConstantRequest:
    """What is attached in each dataset, and which force constants are unknown."""

    payloads: tuple[Payload | None, ...]  # one a dataset
    gains: DriveGains | None  # unknown force constants; None: they are as given
    # Force constants [N/A, N m/A] by joint that count before those of data and description
    constants: Mapping[str, float] | None = None
    common_deviation: float = 0.0  # relative, of their common factor where they were estimated

    @property
    def is_plain(self) -> bool:
        """Whether nothing is attached and all force constants are given."""
        return self.gains is None and not any(self.payloads)

    @property
    def options(self) -> dict[str, Any]:
        """Options as a file can say them; empty where nothing is unusual."""
        found: dict[str, Any] = {}
        if any(self.payloads):
            found['payloads'] = [None if p is None else p.to_mapping() for p in self.payloads]
        if self.gains is not None:
            found['drive_gains'] = {'groups': self.gains.groups, 'deviation': self.gains.deviation}
        if self.constants is not None:
            found['force_constants'] = dict(self.constants)
        return found

    def forces_of(self, datasets: Sequence[Recording], model: ClosedChainModel) -> list[Recording]:
        """Return the datasets in the joint order of the model, with forces for efforts.

        Where force constants are estimated these are currents times nominal constants. DatasetError
        where joints, units or constants do not fit, EstimationError where force constants are to be
        estimated and a dataset has no currents.
        """
        data: list[Recording] = []
        for each in datasets:
            if (self.gains or self.constants) and not each.has_currents:
                raise EstimationError(
                    f'{each.provenance.get("source", "dataset")} has efforts [N, N m] and no '
                    'currents [A]: force constants are those of currents'
                )
            if self.gains is not None and isinstance(each, Recording) and each.efforts is not None:
                each = each.changed(efforts=None)
            data.append(each.for_model(model, self._constants_of(model)))
            if self.gains is not None and not data[-1].has_currents:
                raise EstimationError(
                    f'{each.name} has currents of coupled motors: force constants can be estimated '
                    'of motors with a joint of their own'
                )
        return data

    def _constants_of(self, model: ClosedChainModel) -> dict[str, float] | None:
        if self.constants is None:
            return None
        drives = [n for n in model.actuated_joints if n not in model.free_joints]
        for name in {*self.constants, *drives}:
            value = self.constants.get(name, np.nan)
            if name not in drives or not (np.isfinite(value) and value > 0):
                what = 'is no drive' if name not in drives else 'has no positive force constant'
                raise EstimationError(
                    f"force_constants: '{name}' {what}; needed are {', '.join(drives)}"
                )
        return {name: self.constants.get(name, 1.0) for name in model.actuated_joints}

    def with_recorded_deviations(
        self, data: Sequence[Recording], model: ClosedChainModel, prior: Prior
    ) -> ForceConstantRequest:
        """Return the request with what recordings say of the uncertainty of force constants.

        Where each drive has a factor of its own and nothing else is said of it, the recorded
        deviations are what is known before; with given constants, what they leave uncertain.
        """
        known = isinstance(prior, IdentificationResult) and prior.force_constants is not None
        spreads = [each.effort_scale_deviation for each in data]
        spread = np.max([each for each in spreads if each is not None] or [np.zeros(model.n_a)], 0)
        gains = self.gains
        if known or not spread.any() or self.is_plain:
            return self
        if gains is not None and (gains.groups != EACH or gains.deviation is not None):
            return self
        unsaid = 0.0 if gains is None else np.inf
        free = model.free_joints
        deviations = {
            name: float(each) or unsaid
            for name, each in zip(model.actuated_joints, spread, strict=True)
            if name not in free
        }
        return replace(self, gains=DriveGains(deviation=deviations))

    def given_constants(self, model: ClosedChainModel, size: int) -> ForceConstants | None:
        """Return the constants that were given, as exact, beside `size` parameters."""
        found = self._constants_of(model)
        if found is None or self.gains is not None:
            return None
        free = model.free_joints
        values = [np.nan if name in free else found[name] for name in model.actuated_joints]
        return exact_constants(model.actuated_joints, np.array(values), size)

    @property
    def warnings(self) -> list[str]:
        """What the standard deviations do not contain."""
        if self.gains is not None or not self.common_deviation:
            return []
        return [
            'the force constants are taken as exact; their common factor, and with it every mass, '
            f'inertia and friction, is uncertain by {100 * self.common_deviation:.2g} % (standard '
            'deviation), which the deviations here do not contain'
        ]

    def nominal_constants(self, data: Sequence[Recording], model: ClosedChainModel) -> Array:
        """Return the force constants (n_a,) that the currents of `forces_of` were converted with.

        nan where there is no drive; all nan where force constants are not estimated.
        EstimationError where the datasets were recorded with different ones.
        """
        if self.gains is None:
            return np.full(len(model.actuated_joints), np.nan)
        given = self.constants is not None
        found = [each.constants_for(model, found=given) for each in data]
        for number, constants in enumerate(found):
            other = np.flatnonzero(np.abs(constants / found[0] - 1) > 1e-6)
            if other.size:
                raise EstimationError(
                    f"force constant of '{model.actuated_joints[other[0]]}' is "
                    f'{found[0][other[0]]:g} in dataset 1 and {constants[other[0]]:g} in dataset '
                    f'{number + 1}: the drives of one robot must have one'
                )
        free = [name in model.free_joints for name in model.actuated_joints]
        return np.where(free, np.nan, found[0])


def build_request(
    datasets: Sequence[Recording],
    payloads: Sequence[Payload | Mapping[str, Any] | str | None] | None,
    drive_gains: DriveGains | bool | str | None,
    force_constants: IdentificationResult | ForceConstants | Mapping[str, float] | None = None,
) -> ForceConstantRequest:
    """Read the options of an identification about payloads and force constants.

    As of `identify`. EstimationError where there are not as many payloads as datasets, or one
    cannot be read, or an earlier result has no force constants.
    """
    if isinstance(force_constants, IdentificationResult):
        if force_constants.force_constants is None:
            raise EstimationError('force_constants: the result given has none; see drive_gains=')
        force_constants = force_constants.force_constants
    deviation = 0.0
    if isinstance(force_constants, ForceConstants):
        deviation = force_constants.common_deviation
        if not np.isfinite(deviation):
            raise EstimationError(
                'force_constants: the result given tells only their ratios, not their common factor'
            )
        force_constants = force_constants.by_joint
    if payloads is None:
        found = tuple(each.payload for each in datasets)
    else:
        if isinstance(payloads, Payload | Mapping | str):
            payloads = [payloads]
        if len(payloads) != len(datasets):
            raise EstimationError(
                f'payloads: {len(payloads)} for {len(datasets)} datasets; give one each, None '
                'where nothing is attached'
            )
        try:
            found = tuple(payload_of(each) for each in payloads)
        except DescriptionError as error:
            raise EstimationError(f'payloads: {error}') from error
    return ForceConstantRequest(found, DriveGains.of(drive_gains), force_constants, deviation)
