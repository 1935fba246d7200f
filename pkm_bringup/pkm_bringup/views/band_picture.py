"""Picture of the bands that an identification tried: error of held-out forces over the cutoff."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pkm_description.errors import EstimationError
from pkm_identification import IdentificationResult

EXPLAINED = (
    'solid: forces of held-out parts, predicted in the band that holds the motion (dotted),\n'
    'over the band of the parameters; dashed: measured forces, over the band of the prediction'
)


def band_choices(result: IdentificationResult) -> list[dict[str, Any]]:
    """Return the choices of bands, each once; `EstimationError` where none was made."""
    found: list[dict[str, Any]] = []
    for each in result.diagnostics.data:
        choice = each.signals.get('band_choice')
        if choice is not None and choice not in found:
            found.append(choice)
    if not found:
        raise EstimationError(
            'no band was chosen, as cutoff= or harmonics= was given or the recording is too short: '
            'there is nothing to draw'
        )
    return found


def plot_bands(result: IdentificationResult, path: Path) -> None:
    """Draw the error of the forces of held-out parts over the cutoff; a line a choice."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout='constrained')
    axis = figure.subplots()
    draw_bands(axis, result)
    axis.set_title(EXPLAINED, fontsize='medium')
    figure.savefig(path, dpi=110)


def draw_bands(axis: Any, result: IdentificationResult) -> None:
    """Draw them on an axis; see `EXPLAINED`."""
    from matplotlib.ticker import LogFormatter

    for number, choice in enumerate(band_choices(result)):
        trials, colour = choice['trials'], f'C{number}'
        cutoffs = [trial['cutoff'] for trial in trials]
        errors = [100 * trial['error'] for trial in trials]
        axis.plot(cutoffs, errors, 'o-', color=colour, markersize=4)
        taken = min(trials, key=lambda trial: abs(trial['cutoff'] - choice['cutoff']))
        label = f'taken: {choice["cutoff"]:.3g} Hz, {100 * taken["error"]:.3g} %'
        at = ([taken['cutoff']], [100 * taken['error']])
        axis.plot(*at, 'o', color=colour, markersize=10, fillstyle='none', label=label)
        axis.axvline(choice['scored_in'], color=colour, linestyle=':', linewidth=1)
        _draw_prediction(axis, choice.get('prediction'), colour)
    axis.set_xscale('log')
    axis.set_yscale('log')
    for each in (axis.xaxis, axis.yaxis):
        each.set_major_formatter(LogFormatter(labelOnlyBase=False))
        each.set_minor_formatter(LogFormatter(labelOnlyBase=False, minor_thresholds=(2, 0.5)))
    axis.set_xlabel('cutoff [Hz]')
    axis.set_ylabel('relative RMS error [%]')
    axis.grid(which='both', alpha=0.25)
    axis.legend()


def _draw_prediction(axis: Any, prediction: Mapping[str, Any] | None, colour: str) -> None:
    """Draw the errors of measured forces by the parameters that were taken."""
    if prediction is None:
        return
    at = {trial['cutoff']: 100 * trial['error'] for trial in prediction['trials']}
    axis.plot(list(at), list(at.values()), 's--', color=colour, markersize=3, linewidth=1)
    taken = prediction['cutoff']
    label = f'predicted in: {taken:.3g} Hz'
    axis.plot(taken, at[taken], 's', color=colour, markersize=9, fillstyle='none', label=label)
