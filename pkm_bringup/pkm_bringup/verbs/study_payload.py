"""`pkm study payload`: payloads from currents with unknown force constants."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from pkm_bringup.argument_types import count, fraction, positive
from pkm_bringup.arguments import add_robot
from pkm_bringup.inputs import load_model
from pkm_bringup.verbs.study_options import add_result, add_runs, deliver, result_file
from pkm_bringup.views.console import print_table, progress

PLANTS = ('noise', 'robot')
EFFECTS = ('all', 'modelled')


def add_study(studies: Any) -> None:
    """Add the study."""
    text = 'a payload found from currents alone, with unknown force constants'
    study = studies.add_parser(
        'payload',
        help=text,
        description=f'{text}: every run has drives of its own, is recorded without payload, with '
        'a known one and with one to be found, and is evaluated with several things known '
        'besides the currents.',
    )
    add_robot(study, 'palida')
    add_runs(study, 10, 'robots (seeds)')
    study.add_argument(
        '--periods',
        type=count,
        default=40,
        help='of each recording, at least 2, whose spread is the noise [1]; default: 40',
    )
    study.add_argument(
        '--mass', type=positive, default=2.0, help='of both payloads [kg]; default: 2'
    )
    study.add_argument(
        '--spread',
        type=fraction,
        default=0.2,
        help='largest error of the described force constants [1]; default: 0.2',
    )
    study.add_argument(
        '--plant',
        choices=PLANTS,
        default='noise',
        help='noise: the exact motion and its forces with noise on both; robot: simulated under '
        'control; default: noise',
    )
    study.add_argument(
        '--effects',
        choices=EFFECTS,
        help='with --plant robot: all that the description declares, or without Stribeck '
        'friction and cogging; default: modelled',
    )
    add_result(study)
    study.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Run all seeds, print the table."""
    from pkm_bringup.studies.payload import run_study
    from pkm_bringup.studies.payload_recordings import Setting
    from pkm_description.errors import EstimationError

    path = result_file(arguments)
    if arguments.effects and arguments.plant != 'robot':
        raise EstimationError('--effects needs --plant robot')
    setting = Setting(
        plant=arguments.plant,
        effects=arguments.effects or Setting.effects,
        periods=arguments.periods,
        spread=arguments.spread,
        mass=arguments.mass,
    )
    with progress('study') as update:
        update('reading the robot; the first run compiles')
        model = load_model(arguments.robot)
        content = run_study(
            model.description, setting, arguments.runs, arguments.seed, arguments.workers, update
        )
    return deliver(content, arguments, path, _print)


def _print(content: Mapping[str, Any]) -> None:
    from pkm_bringup.studies.payload_report import HEADER, rows

    title = (
        f'payload of {content["mass"]:g} kg on {content["robot"]}, force constants off by up '
        f'to {100 * content["spread"]:g} %, {content["runs"]} runs, {content["periods"]} '
        f'periods ({content["duration"]:.3g} s) each recording, plant: {content["plant"]}'
    )
    print_table(HEADER, rows(content), title)
    alone = content['without_payload']
    sys.stdout.write(
        '\nwithout any payload: ratios of the force constants off by '
        f'{100 * alone["ratio_rms"]:.3g} % rms (reported {100 * alone["ratio_deviation"]:.3g} '
        f'%), standard deviation of their common factor {alone["common_deviation"]:g}\n'
    )
