"""`pkm study payload`: payloads from currents with unknown force constants."""

from __future__ import annotations

import sys
from typing import Any

from pkm_bringup.arguments import (
    ROBOT,
    add_json,
    count,
    fraction,
    load_model,
    positive,
    whole,
)
from pkm_bringup.console import json_text, print_json, print_note, print_table, progress

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
    study.add_argument(
        '--robot', default='palida', metavar='ROBOT', help=f'{ROBOT}; default: palida'
    )
    study.add_argument('--runs', type=count, default=10, help='robots (seeds) [1]; default: 10')
    study.add_argument(
        '--periods', type=count, default=40, help='of each recording [1]; default: 40'
    )
    study.add_argument(
        '--mass', type=positive, default=2.0, help='of both payloads [kg]; default: 2'
    )
    study.add_argument(
        '--spread', type=fraction, default=0.2,
        help='largest error of the described force constants [1]; default: 0.2',
    )  # fmt: skip
    study.add_argument(
        '--plant', choices=PLANTS, default='noise',
        help='noise: the exact motion and its forces with noise on both; robot: simulated under '
        'control; default: noise',
    )  # fmt: skip
    study.add_argument(
        '--effects', choices=EFFECTS, default='modelled',
        help='of the simulated robot: all that the description declares, or without Stribeck '
        'friction and cogging; default: modelled',
    )  # fmt: skip
    study.add_argument('--seed', type=whole, default=0, help='of the first run [1]; default: 0')
    study.add_argument('--workers', type=count, default=1, help='processes [1]; default: 1')
    study.add_argument('--output', metavar='FILE', help='new JSON file, SI units')
    add_json(study)
    study.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Run all seeds, print the table."""
    from pkm_bringup.outputs import check_output, write_output
    from pkm_bringup.studies.payload import HEADER, Setting, rows, run_study

    path = check_output(arguments.output, ('.json',)) if arguments.output else None
    setting = Setting(
        plant=arguments.plant,
        effects=arguments.effects,
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
    if path is not None:
        write_output(path, lambda at: at.write_text(json_text(content)))
    if arguments.json:
        print_json(content)
    else:
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
    if path is not None:
        print_note(f"wrote '{path}'")
    return 0
