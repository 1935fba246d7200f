"""Payloads and force constants of `pkm identify`: its options and what it prints of them."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from typing import Any

from pkm_bringup.argument_types import not_negative
from pkm_bringup.inputs import load_payload
from pkm_bringup.views.console import print_table

RECORDED = 'recorded'
COMPONENTS = (
    'mass [kg]',
    'centre x [m]',
    'centre y [m]',
    'centre z [m]',
    'Ixx [kg m^2]',
    'Ixy [kg m^2]',
    'Ixz [kg m^2]',
    'Iyy [kg m^2]',
    'Iyz [kg m^2]',
    'Izz [kg m^2]',
)


def add_calibration(parser: argparse.ArgumentParser) -> None:
    """Add the options of payloads and force constants."""
    parser.add_argument(
        '--payload',
        action='append',
        default=[],
        metavar='PAYLOAD',
        help='one for each DATA, in order: recorded (what the file names), none, unknown, YAML '
        'text or file with what is known of mass [kg], centre [m, platform frame], inertia '
        '[kg m^2, about the centre], and mass_deviation, centre_deviation, inertia_deviation; '
        'what is left out is estimated; default: recorded',
    )
    parser.add_argument(
        '--drive-gains',
        choices=('each', 'shared'),
        help='estimate the force constants [N/A, N m/A] from the currents, one a drive or one '
        'factor for all; their common factor needs a known payload or a known constant',
    )
    parser.add_argument(
        '--constants',
        metavar='MODEL',
        help='model file of an earlier identification with --drive-gains, whose force constants '
        '[N/A, N m/A] count before those of data and description',
    )
    parser.add_argument(
        '--gain-deviation',
        action='append',
        default=[],
        metavar='[JOINT=]FRACTION',
        type=_deviation,
        help='with --drive-gains, repeatable: relative standard deviation [1] of the given force '
        'constants, of all or of a joint; 0 is exact; default: unknown',
    )


def calibration_options(arguments: Any, datasets: Sequence[Any]) -> dict[str, Any]:
    """Return the options of `identify` that were given.

    Raises
    ------
    EstimationError
        The numbers of payloads and data differ, or deviations come without gains.
    """
    from pkm_description import EstimationError
    from pkm_identification import DriveGains

    found: dict[str, Any] = {}
    if arguments.payload:
        if len(arguments.payload) != len(datasets):
            raise EstimationError(
                f'{len(arguments.payload)} --payload for {len(datasets)} DATA: give one each, none '
                'where nothing is attached'
            )
        found['payloads'] = [
            each.payload if text == RECORDED else load_payload(text)
            for text, each in zip(arguments.payload, datasets, strict=True)
        ]
    if arguments.constants:
        from pkm_identification import load_result

        found['force_constants'] = load_result(arguments.constants)
    if arguments.gain_deviation and not arguments.drive_gains:
        raise EstimationError('--gain-deviation needs --drive-gains')
    if arguments.drive_gains:
        deviation: Any = dict(arguments.gain_deviation)
        found['drive_gains'] = DriveGains(arguments.drive_gains, deviation or None)
    return found


def _deviation(text: str) -> tuple[str, float]:
    """Return joint (`*` for all) and deviation, as argparse's `type`."""
    joint, separator, value = text.rpartition('=')
    return (joint if separator else '*'), not_negative(value)


def print_calibration(result: Any) -> None:
    """Print the force constants and payloads that were estimated."""
    constants = result.force_constants
    if constants is not None and constants.groups:
        rows = [
            (joint, nominal, value, deviation, 100 * deviation / value)
            for joint, nominal, value, deviation in zip(
                constants.joint_names,
                constants.nominal,
                constants.values,
                constants.standard_deviation,
                strict=True,
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
