"""`pkm excite`: presets, design, figures, check and run of excitation trajectories."""

from __future__ import annotations

from typing import Any

from pkm_bringup.verbs.excite_verbs import (
    excite_check,
    excite_design,
    excite_preset,
    excite_run,
    excite_show,
)

SUBVERBS = (excite_preset, excite_design, excite_show, excite_check, excite_run)


def add_parser(subparsers: Any) -> None:
    """Add the verb and its subverbs."""
    text = 'make, design, show, check or run an excitation trajectory'
    parser = subparsers.add_parser('excite', help=text, description=text)
    actions = parser.add_subparsers(title='verbs', metavar='VERB', required=True, dest='action')
    for subverb in SUBVERBS:
        subverb.add_parser(actions)
