"""What a run comes to: the verdict, its key figures and what to do next."""

from __future__ import annotations

from pkm_bringup.reports.page_blocks import Figure, Summary, Tone
from pkm_bringup.reports.report_run import Predicted, Run
from pkm_bringup.views.tracking_view import best_factor
from pkm_identification.excitation import shipped_excitations
from pkm_identification.percent import percent
from pkm_identification.result.verdict import Grade, Limit, verdict_of

TONES = {
    Grade.GOOD: Tone.FINE,
    Grade.USABLE: Tone.FAIR,
    Grade.POOR: Tone.BAD,
    Grade.UNPROVEN: Tone.FAIR,
    Grade.DOUBTFUL: Tone.BAD,
}
NO_MODEL, NO_VERDICT = 'no model yet', 'no verdict'


def summary_of(run: Run) -> Summary:
    """Return the verdict on a run; of one without a model what is there instead."""
    found = None if run.result is None else verdict_of(run.result)
    if run.result is None:
        return _without_model(run)
    if found is None:
        text = 'the model file holds no errors of held-out forces, as files of earlier releases'
        advice = ('identify again for a verdict',)
        return Summary(NO_VERDICT, Tone.OPEN, text, (), advice, (), tuple(_figures(run)))
    reasons = (*found.doubts, found.limit.value, *found.reasons)
    return Summary(
        f'{found.grade.value} model',
        TONES[found.grade],
        found.finding,
        reasons,
        found.advice,
        _commands(run, found.limit),
        tuple(_figures(run)),
    )


def _without_model(run: Run) -> Summary:
    usable = [each for each in run.recordings if each.look.refusal is None]
    robot = run.robot_argument
    if usable:
        text = f'{len(usable)} of {len(run.recordings)} recordings can be identified from'
        names = ' '.join(each.path for each in usable)
        command = f'pkm identify {names} --robot {robot} --output model.yaml'
        return Summary(NO_MODEL, Tone.OPEN, text, (), ('identify a model',), (command,), ())
    if run.recordings:
        reasons = tuple(f'{each.name}: {each.look.refusal}' for each in run.recordings)
        advice = ('see what the recordings hold',)
        command = f'pkm data {run.recordings[0].path} {robot}'
        return Summary(
            NO_MODEL, Tone.BAD, 'no recording can be used', reasons, advice, (command,), ()
        )
    if run.design is not None:
        text = 'a motion that was designed and not yet recorded'
        command = f'pkm excite run {run.files.designs[0]} --robot {robot} --bag first_bag'
        commands = () if run.is_redundant else (command,)
        return Summary(NO_MODEL, Tone.OPEN, text, (), ('excite the robot',), commands, ())
    return Summary(NO_MODEL, Tone.OPEN, 'a validation alone', (), (), (), ())


def _commands(run: Run, limit: Limit) -> tuple[str, ...]:
    """Commands that go on from what limits a model."""
    result = run.result
    assert result is not None
    robot = run.robot_argument
    data = ' '.join(str(each.get('source', 'DATA')) for each in result.provenance.data) or 'DATA'
    again = f'pkm identify {data} --robot {robot}'
    if run.is_redundant and limit in (Limit.MISSING_EFFECT, Limit.NOISE_OF_FORCES):
        return ()
    if limit is Limit.MISSING_EFFECT and not result.diagnostics.drive_terms.tried_terms:
        return (f'{again} --friction auto --output model_2.yaml',)
    if limit is Limit.NOISE_OF_MOTION:
        return (f'{again} --estimator iv --output model_2.yaml',)
    if limit is Limit.EXCITATION:
        return (f'pkm excite design --robot {robot} --output excitation.yaml',)
    if limit in (Limit.WRONG_DATA, Limit.DATA, Limit.SIGNS):
        return (f'pkm data {data} {robot}',)
    if limit is Limit.NOISE_OF_FORCES:
        periods = [each.signals.get('periods') for each in result.diagnostics.data]
        known = [int(each) for each in periods if each]
        more = f' --periods {4 * max(known)}' if known else ''
        motion = 'shipped' if run.robot in shipped_excitations() else 'MOTION.yaml'
        motion = str(run.files.designs[0]) if run.files.designs else motion
        return (f'pkm excite run {motion} --robot {robot} --bag longer{more}',) if known else ()
    return ()


def _figures(run: Run) -> list[Figure]:
    """Return the numbers of the first lines: each is said again in a section."""
    found: list[Figure] = []
    result = run.result
    verdict = None if result is None else verdict_of(result)
    if verdict is not None:
        label = 'RMS error of held-out forces'
        found.append(Figure(percent(verdict.error), label, verdict.error))
        if verdict.noise is not None:
            label = 'from noise of the measurement alone'
            found.append(Figure(percent(verdict.noise), label, verdict.noise))
    if run.identified is not None:
        known = run.identified.identifiability
        estimated = int(known.is_estimated.sum())
        text = f'{known.count} of {estimated}'
        found.append(Figure(text, 'parameters properly identified', known.count))
    if run.predictions:
        found += _of_prediction(run.predictions[0])
    best = max(filter(None, map(best_factor, run.tracked)), key=lambda each: each[0], default=None)
    if best is not None:
        factor, after, before = best
        label = f'times smaller tracking error ({after.name} against {before.name})'
        found.append(Figure(f'{factor:.3g}', label, factor))
    return found


def _of_prediction(found: Predicted) -> list[Figure]:
    """Return the errors of the forces of a motion, and whether noise explains them."""
    name, validation = found.recording.name, found.validation
    error, truth = validation.against_measured.overall, validation.against_truth_in_band
    fine = validation.is_unbiased
    label = f'relative absolute error (eps_RA) of forces predicted for {name}'
    if fine is not None:
        label += f'; noise explains it on {int(fine.sum())} of {len(fine)} axes'
    figures = [Figure(percent(error), label, error)]
    if truth is not None:
        label = f'eps_RA to the noise-free forces of {name}, in the band of its signals'
        figures.append(Figure(percent(truth.overall), label, truth.overall))
    return figures
