"""`pkm dataset`: make, score and check a public dataset of simulated recordings."""

from __future__ import annotations

from typing import Any

from pkm_bringup.verbs.dataset import dataset_check, dataset_make, dataset_score

SUBVERBS = (dataset_make, dataset_score, dataset_check)


def add_parser(subparsers: Any) -> None:
    """Add the verb and its subverbs."""
    text = 'make, score and check a public dataset of simulated recordings'
    parser = subparsers.add_parser('dataset', help=text, description=text)
    actions = parser.add_subparsers(title='verbs', metavar='VERB', required=True, dest='action')
    for subverb in SUBVERBS:
        subverb.add_parser(actions)
