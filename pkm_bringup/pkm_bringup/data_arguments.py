"""Arguments about recordings and their options, which several verbs share."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from pkm_bringup.arguments import NOT_NEGATIVE
from pkm_description.errors import DatasetError, EstimationError
from pkm_identification.option import Option
from pkm_identification.options import LOADING, SIGNALS, written_options

DATA = (
    'rosbag2 folder, .mcap, .db3, .csv or .npz file; with a file of names .txt, .mat and .parquet, '
)
DATA += 'too (--columns); positions [m, rad], efforts [N, N m], '
DATA += (
    'currents [A]; shipped:serial_arm is an example; DATA:FROM-TO takes the part between two times '
)
DATA += '[s from the first sample]'


def add_options(parser: argparse.ArgumentParser, also: str = '', *more: Iterable[Option]) -> None:
    """Add --option, for the signals and `more`, with `also` in its help, and those of loading."""
    shown = '; '.join(_form(option) for options in (SIGNALS, *more) for option in options)
    text = f'repeatable; {shown}{also}'
    parser.add_argument('--option', action='append', default=[], metavar='NAME=VALUE', help=text)
    add_loading(parser)


def add_loading(parser: argparse.ArgumentParser) -> None:
    """Add the options of `load`."""
    for option in LOADING:
        if option.has_argument:
            option.add_argument(parser)


def _form(option: Option) -> str:
    unit = f' [{option.unit}]' if option.unit else ''
    return f'{option.name}: {option.values.what}{unit}'


def given_options(arguments: Any) -> dict[str, Any]:
    """Return what --option gives: NAME=VALUE, each name once, the values being YAML.

    Patterns such as `*.viscous` need no quotes, although `*` begins an alias in YAML.
    """
    pairs = []
    for text in arguments.option:
        name, separator, value = text.partition('=')
        if not separator or not name:
            raise EstimationError(f"option '{text}' must have the form NAME=VALUE")
        pairs.append((name, value))
    return written_options(pairs)


def given_loading(arguments: Any) -> dict[str, Any]:
    """Return the options of `load` that are given."""
    joints = dict(_pair(text, '--joint', 'NAME=NAME') for text in arguments.joint)
    if len(joints) < len(arguments.joint):
        raise DatasetError('--joint names a joint of the data twice')
    constants = {}
    for text in arguments.force_constant:
        name, value = _pair(text, '--force-constant', 'JOINT=VALUE[,DEVIATION]')
        try:
            constants[name] = [float(part) for part in value.split(',')]
        except ValueError as error:
            raise DatasetError(f"--force-constant '{text}': '{value}' is not a number") from error
    given = (
        'topic',
        'effort_unit',
        'forces',
        'side',
        'columns',
        'start',
        'stop',
        'allow_incomplete',
    )
    found = {name: getattr(arguments, _destination(name)) for name in given}
    found |= {'joints': joints, 'force_constants': constants}
    usual = {option.name: option.default for option in LOADING}
    return {name: value for name, value in found.items() if value and value != usual[name]}


def _destination(name: str) -> str:
    """Attribute of the parsed arguments that holds an option of loading."""
    argument = next(option.argument for option in LOADING if option.name == name)
    return argument.removeprefix('--').replace('-', '_')


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    name, separator, value = text.partition('=')
    if not (name and separator and value):
        raise DatasetError(f"{option} '{text}' must have the form {form}")
    return name, value


def add_force_constants(parser: argparse.ArgumentParser) -> None:
    """Add the options of payloads and unknown force constants."""
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


def given_force_constants(arguments: Any) -> dict[str, Any]:
    """Return the options of `identify` about payloads and force constants that are given."""
    from pkm_bringup.inputs import load_payload
    from pkm_identification import load_result
    from pkm_identification.force_constants.drive_gains import DriveGains
    from pkm_identification.requests.identify_request import RECORDED

    found: dict[str, Any] = {}
    payloads, count = arguments.payload, len(arguments.data)
    if payloads and len(payloads) != count:
        raise EstimationError(
            f'{len(payloads)} --payload for {count} DATA: give one each, none where nothing is '
            'attached'
        )
    if payloads:
        found['payloads'] = [text if text == RECORDED else load_payload(text) for text in payloads]
    if arguments.constants:
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
    return (joint if separator else '*'), NOT_NEGATIVE.read(value)
