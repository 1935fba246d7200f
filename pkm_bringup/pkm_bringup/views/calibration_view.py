"""What `pkm identify` prints of payloads and force constants."""

from __future__ import annotations

import math
import sys
from typing import Any

from pkm_bringup.views.console import print_table

INERTIAS = ('Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz')
COMPONENTS = ('mass [kg]', *(f'centre {axis} [m]' for axis in 'xyz'))
COMPONENTS += tuple(f'{name} [kg m^2]' for name in INERTIAS)


def print_calibration(result: Any) -> None:
    """Print the force constants and payloads that were estimated."""
    constants = result.force_constants
    if constants is not None and constants.groups:
        columns = (constants.nominal, constants.values, constants.standard_deviation)
        rows = [
            (joint, nominal, value, deviation, 100 * deviation / value)
            for joint, nominal, value, deviation in zip(
                constants.joint_names, *columns, strict=True
            )
            if joint in constants.by_joint
        ]
        header = ('force constant [N/A, N m/A]', 'given', 'estimate', 'standard deviation', '%')
        sys.stdout.write('\n')
        print_table(header, rows)
        ratios = f'{100 * max(constants.ratio_deviation):.3g} % (standard deviations)\n'
        if math.isfinite(constants.common_deviation):
            sys.stdout.write(
                f'common factor known to {100 * constants.common_deviation:.3g} %, each over the '
                f'mean to {ratios}for the description, <ros2_control>:\n'
            )
            for joint, value in constants.by_joint.items():
                sys.stdout.write(
                    f'  <joint name="{joint}">: <param name="force_constant">{value:.6g}</param>\n'
                )
        else:
            sys.stdout.write(f'common factor not determined, each over the mean to {ratios}')
    for payload in result.payloads:
        where = ', '.join(str(number + 1) for number in payload.datasets)
        body = list(zip(COMPONENTS, payload.values, payload.standard_deviation, strict=True))
        sys.stdout.write('\n')
        title = f'{payload.name} in data {where}'
        print_table((title, 'estimate', 'standard deviation'), body)


def calibration_summary(result: Any) -> dict[str, Any]:
    """Return the same for a machine; nothing where nothing of it was estimated."""
    found: dict[str, Any] = {}
    if result.force_constants is not None:
        found['force_constants'] = result.force_constants.to_mapping()
    if result.payloads:
        found['payloads'] = [payload.to_mapping() for payload in result.payloads]
    return found
