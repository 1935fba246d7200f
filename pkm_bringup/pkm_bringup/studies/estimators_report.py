"""Tables of the study of estimators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

HEADER = (
    'estimator',
    'error [sd]',
    'relative error [%]',
    'force error [N, N m]',
    'largest bias t',
    'p of bias',
    'parameters biased',
    'reported / observed sd',
)


def rows(content: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """One row an estimator, for one level of position noise."""
    return [
        (
            name,
            f'{found["error"]:.3f}',
            f'{100 * found["relative_error"]:.2f}',
            f'{found["force_error"]:.3f}',
            f'{found["largest_bias_t"]:.1f}',
            f'{found["bias_p"]:.2g}',
            f'{found["biased_parameters"]} of {len(content["parameters"])}',
            f'{found["reported_to_observed"]:.2f}',
        )
        for name, found in content.items()
        if isinstance(found, Mapping) and 'error' in found
    ]


def title(content: Mapping[str, Any]) -> str:
    """Say what the table is of."""
    return (
        f'position noise {1e6 * content["position_noise"]:.3g} um (urad), {content["runs"]} runs, '
        f'{content["harmonics"]:.0f} harmonics of motion, '
        f'{len(content["well_determined"])} parameters within 15 %'
    )


def paired_lines(content: Mapping[str, Any]) -> list[str]:
    """Paired comparisons in words."""
    lines = []
    for pair, figures in content['paired'].items():
        parts = ', '.join(
            f'{key.replace("_", " ")} lower by {100 * value["share"]:.1f} % '
            f'(in {value["runs"]} of {content["runs"]} runs, p {value["p"]:.2g})'
            for key, value in figures.items()
        )
        lines.append(f'{pair}: {parts}')
    return lines
