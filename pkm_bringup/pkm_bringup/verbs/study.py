"""`pkm study`: comparisons of the papers, repeated on simulated robots; one a file."""

from __future__ import annotations

from importlib import import_module
from typing import Any

STUDIES = (
    'excitation',
    'conditioning',
    'estimators',
    'feasible',
    'ellipsoid',
    'dirty',
    'pendulum',
    'uf_pkm',
    'payload',
)


def add_parser(subparsers: Any) -> None:
    """Add the verb and its studies."""
    text = 'repeat a comparison of the papers on a simulated robot'
    parser = subparsers.add_parser('study', help=text, description=text)
    studies = parser.add_subparsers(title='studies', metavar='STUDY', required=True, dest='study')
    for name in STUDIES:
        import_module(f'pkm_bringup.verbs.study_{name}').add_study(studies)
