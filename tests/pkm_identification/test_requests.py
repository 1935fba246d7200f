"""Requests without ROS: what they refuse, with which code, and what they answer."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pkm_description.errors import DatasetError, EstimationError, TrajectoryError
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification import identify, load, reduce_model, validate
from pkm_identification.nodes.estimation_messages import to_message
from pkm_identification.requests import (
    apply_request,
    compare_request,
    design_request,
    identify_request,
)
from pkm_identification.requests.apply_request import ApplyRequest, applicable_model
from pkm_identification.requests.check_request import CheckRequest, planned_motion
from pkm_identification.requests.compare_request import (
    CompareRequest,
    compare_on_recordings,
    require_figures,
)
from pkm_identification.requests.design_request import DesignRequest, design_motion
from pkm_identification.requests.identify_request import (
    Identified,
    IdentifyRequest,
    ReduceRequest,
    identify_recordings,
    loading_options,
)
from pkm_identification.requests.refusal import Code, Refused, refusing
from pkm_identification.requests.validate_request import ValidateRequest, validate_on_recording


@pytest.fixture
def saved(record, tmp_path):
    """The function that writes a recording and returns its path."""

    def save(name='data', dataset=None, **options):
        if dataset is None:
            dataset = record(**{'periods': 4, 'force_noise': 0.1} | options)
        path = tmp_path / f'{name}.npz'
        np.savez(
            path,
            time=dataset.time,
            joint_names=list(dataset.joint_names),
            positions=dataset.positions,
            efforts=dataset.efforts,
        )
        return str(path)

    return save


def refusal(function, *arguments, **options) -> Refused:
    """The refusal that a call ends in."""
    with pytest.raises(Refused) as caught:
        function(*arguments, **options)
    return caught.value


def test_identify_answers_what_the_library_does(saved, slider_model, tmp_path):
    path, output = saved(), tmp_path / 'model.yaml'
    seen = []
    request = IdentifyRequest([path], 'gauss_markov', {'fixed': {'a.m': 2.0}}, output=str(output))
    found = identify_recordings(request, slider_model, lambda phase, _: seen.append(phase))
    expected = identify(load(path), slider_model, 'gauss_markov', fixed={'a.m': 2.0})
    np.testing.assert_array_equal(found.result.values, expected.values)
    assert output.exists() and seen[0] == 'reading the data' and found.reduction is None
    assert refusal(IdentifyRequest, [path], output=str(output)).code is Code.CANNOT_WRITE


def test_reduce_answers_what_the_library_does(saved, slider_model):
    path, other = saved(), saved('other', seed=1)
    request = ReduceRequest([path], options={'validation': other, 'keep': 'a.m'}, threshold=1.0)
    found = identify_recordings(request, slider_model)
    expected = reduce_model(
        load(path), slider_model, validation=load(other), keep='a.m', threshold=1.0
    )
    assert found.reduction is not None and found.reduction.dropped == expected.dropped
    np.testing.assert_array_equal(found.result.values, expected.result.values)


@pytest.mark.parametrize(
    ('fields', 'code', 'text'),
    [
        ({'estimator': 'best'}, Code.UNKNOWN_ESTIMATOR, 'valid are ls'),
        ({'options': {'colour': 1}}, Code.BAD_OPTION, "unknown option 'colour'"),
        ({'options': {'keep': 'a.m'}}, Code.BAD_OPTION, "unknown option 'keep'"),
        ({'options': {'method': 'fft'}}, Code.BAD_OPTION, 'fourier, filter or local_cubic, not'),
        ({'options': {'shared': 2}}, Code.BAD_OPTION, 'true or false, not 2'),
        ({'threshold': -1.0}, Code.BAD_OPTION, 'positive number [percent]'),
    ],
)
def test_a_request_checks_itself(fields, code, text):
    found = refusal(IdentifyRequest, ['absent.npz'], **fields)
    assert found.code is code and text in str(found)


def test_what_data_and_files_refuse(saved, slider_model):
    path = saved()
    for request, code in (
        (IdentifyRequest(['absent.npz']), Code.BAD_DATA),
        (IdentifyRequest([path], options={'prior': 'absent.yaml'}), Code.BAD_OPTION),
        (IdentifyRequest([path], options={'fixed': {'nobody.m': 1.0}}), Code.ESTIMATION_FAILED),
        (IdentifyRequest([path], loading={'effort_unit': 'kg'}), Code.BAD_DATA),
    ):
        assert refusal(identify_recordings, request, slider_model).code is code


def test_compare_keeps_what_fails_as_a_row(saved, slider_model):
    request = CompareRequest([saved()], ['ls', 'tls'], options={'method': 'filter'})
    found = compare_on_recordings(request, slider_model)
    assert [candidate.name for candidate in found] == ['ls', 'tls']
    assert found[0].result is not None and 'period' in found[1].error
    require_figures(found)
    assert refusal(require_figures, found[1:]).code is Code.ESTIMATION_FAILED
    assert refusal(CompareRequest, ['x'], ['best']).code is Code.UNKNOWN_ESTIMATOR
    found = refusal(CompareRequest, ['x'], ['ls', 'irls'], options={'forgetting': 0.9})
    assert found.code is Code.BAD_OPTION and 'tuning' in str(found)


def test_validate_answers_what_the_library_does(saved, slider_model, tmp_path):
    path, other = saved(), saved('other', seed=1)
    result = identify(load(path), slider_model)
    result.save(tmp_path / 'model.yaml')
    request = ValidateRequest(other, str(tmp_path / 'model.yaml'), {'level': 0.5})
    found = validate_on_recording(request, slider_model)
    expected = validate(load(other), result, slider_model, level=0.5)
    assert found.against_measured.overall == pytest.approx(expected.against_measured.overall)
    assert found.coverage.level == 0.5
    absent = ValidateRequest(other, 'absent.yaml')
    assert refusal(validate_on_recording, absent, slider_model).code is Code.BAD_MODEL
    for options, text in (({'levl': 0.5}, "'levl'"), ({'rollout': [-1.0]}, 'positive times')):
        found = refusal(ValidateRequest, other, 'absent.yaml', options)
        assert found.code is Code.BAD_OPTION and text in str(found)


@pytest.fixture
def barely_impossible(saved, record, slider_model, tmp_path):
    """A model of slightly negative friction, within its uncertainty, and its recording."""
    data = record(periods=4, force_noise=0.1)
    velocity = np.gradient(data.positions, data.time, axis=0)
    plain = identify(data, slider_model)
    index = plain.names.index('left.viscous')
    surplus = plain.values[index] + plain.standard_deviation[index]
    efforts = data.efforts - velocity * [surplus, 0.0]
    path = saved('impossible', data.changed(efforts=efforts))
    result = identify(load(path), slider_model)
    result.save(tmp_path / 'model.yaml')
    return result, path, str(tmp_path / 'model.yaml')


def test_what_is_applied_is_what_is_validated(barely_impossible, slider_model):
    """The controller gets the physical projection: its error counts, not the estimate's."""
    result, path, model_file = barely_impossible
    assert not result.is_physical
    estimate, applied = (
        validate(load(path), each, slider_model).against_measured.overall
        for each in (result, result.as_physical())
    )
    assert estimate < applied  # of the data that it was estimated from
    between = 0.5 * (estimate + applied)
    with np.load(path) as content:  # the same numbers in a file that it was not identified from
        path = Path(path).with_name('other.npz')
        np.savez_compressed(path, **content)
    path = str(path)
    found = refusal(applicable_model, ApplyRequest(model_file, path, between), slider_model)
    assert found.code is Code.VALIDATION_FAILED
    accepted = applicable_model(ApplyRequest(model_file, path, 1.01 * applied), slider_model)
    assert 'nearest physical model' in accepted.remarks[0]
    message = to_message(accepted.result)
    assert message.description_digest == slider_model.description.digest != ''
    np.testing.assert_array_equal(message.standard_value, result.standard_parameters)


def test_a_code_is_a_number_of_the_answer():
    class Answer:
        BAD_DATA = 17
        error_code, error_msg = 0, ''

    answer = Refused(Code.BAD_DATA, 'why').fill(Answer())
    assert (answer.error_code, answer.error_msg) == (17, 'why')


@pytest.mark.parametrize(
    'kind',
    [
        apply_request.Applicable,
        ApplyRequest,
        CheckRequest,
        CompareRequest,
        DesignRequest,
        Identified,
        IdentifyRequest,
        ReduceRequest,
        ValidateRequest,
    ],
)
def test_what_was_checked_stays_as_it_is(kind):
    request = object.__new__(kind)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(request, dataclasses.fields(kind)[0].name, 'other')


# -- errors -----------------------------------------------------------------------


def test_errors_of_the_library_get_a_code():
    """Wrong recordings one of their own, where there is one; refusals keep theirs."""
    for error, data, code in (
        (EstimationError('why'), None, Code.BAD_OPTION),
        (EstimationError('why'), Code.BAD_DATA, Code.BAD_OPTION),
        (DatasetError('why'), None, Code.BAD_OPTION),
        (DatasetError('why'), Code.BAD_DATA, Code.BAD_DATA),
        (Refused(Code.BUSY, 'why'), Code.BAD_DATA, Code.BUSY),
    ):
        with pytest.raises(Refused, match='^why$') as caught, refusing(Code.BAD_OPTION, data):
            raise error
        assert caught.value.code is code
    with pytest.raises(ValueError, match='own'), refusing(Code.BAD_OPTION):
        raise ValueError('own')


def test_progress_begins_with_reading(saved, slider_model, tmp_path):
    path = saved()
    identify(load(path), slider_model).save(tmp_path / 'model.yaml')
    seen = []
    for function, request in (
        (identify_recordings, IdentifyRequest([path], 'ls')),
        (compare_on_recordings, CompareRequest([path], ['ls'])),
        (validate_on_recording, ValidateRequest(path, str(tmp_path / 'model.yaml'))),
    ):
        steps = []
        function(request, slider_model, lambda *step, steps=steps: steps.append(step))
        seen.append(steps)
        assert steps[0] == ('reading the data', 0.0)
    assert seen[2] == [('reading the data', 0.0), ('predicting', 0.3)]


# -- identification ---------------------------------------------------------------


@pytest.fixture
def taken(monkeypatch):
    """What `identify` gets, in place of an identification."""
    found = {}

    def identify(data, model, estimator, **options):
        found.update(options, data=data, estimator=estimator)
        return SimpleNamespace(values=None)

    monkeypatch.setattr(identify_request, 'identify', identify)
    monkeypatch.setattr(identify_request, 'identifiability', lambda *_: None)
    return found


def test_options_that_are_none_are_those_by_default(saved, slider_model, taken):
    options = {'fixed': None, 'estimate': ['a.*'], 'prior': None, 'shared': False}
    request = IdentifyRequest([saved()], 'wls', options)
    found = identify_recordings(request, slider_model)
    assert found.reduction is None and taken['estimator'] == 'wls'
    assert set(taken) == {'estimate', 'shared', 'progress', 'data', 'estimator'}
    assert (taken['estimate'], taken['shared']) == (['a.*'], False)


def test_model_files_and_mappings_become_what_they_describe(saved, slider_model, tmp_path, taken):
    path = saved()
    earlier = identify(load(path), slider_model)
    earlier.save(tmp_path / 'model.yaml')
    field = dataclasses.fields(identify_request.DriveGains)[0].name
    options = {'prior': str(tmp_path / 'model.yaml'), 'drive_gains': {field: 0.1}}
    identify_recordings(IdentifyRequest([path], options=options), slider_model)
    np.testing.assert_array_equal(taken['prior'].values, earlier.values)
    assert isinstance(taken['drive_gains'], identify_request.DriveGains)
    identify_recordings(IdentifyRequest([path], options={'prior': earlier}), slider_model)
    assert taken['prior'] is earlier
    wrong = IdentifyRequest([path], options={'drive_gains': {'colour': 1}})
    found = refusal(identify_recordings, wrong, slider_model)
    assert found.code is Code.BAD_OPTION and "option 'drive_gains': " in str(found)
    wrong = IdentifyRequest([path], options={'force_constants': 'absent.yaml'})
    found = refusal(identify_recordings, wrong, slider_model)
    assert found.code is Code.BAD_OPTION and "option 'force_constants': " in str(found)


@pytest.mark.parametrize(
    ('asked', 'expected'),
    [
        (['recorded', None], ['of one', None]),
        ([None, 'recorded'], [None, 'of two']),
        (['recorded', 'recorded'], ['of one', 'of two']),
        (['other', {'mass': 1.0}], ['other', {'mass': 1.0}]),
        (['recorded'], ['recorded']),  # too few: `identify` says so
    ],
)
def test_recorded_payloads_are_those_of_their_recordings(
    slider_model, taken, monkeypatch, asked, expected
):
    loaded = {'one': SimpleNamespace(payload='of one'), 'two': SimpleNamespace(payload='of two')}
    monkeypatch.setattr(identify_request, 'load', lambda path, **_: loaded[path])
    identify_recordings(IdentifyRequest(['one', 'two'], options={'payloads': asked}), slider_model)
    assert taken['payloads'] == expected
    assert taken['data'] == [loaded['one'], loaded['two']]


def test_noise_free_signals_are_read_where_they_are_compared(
    slider_model, taken, monkeypatch, saved
):
    """Not for an identification; the options of the request count before."""
    seen = []

    def noted(path, **options):
        seen.append(options)
        return load(path, **options)

    monkeypatch.setattr(identify_request, 'load', noted)
    monkeypatch.setattr(
        identify_request, 'reduce_model', lambda *_, **__: SimpleNamespace(result=None)
    )
    path = saved()
    identify_recordings(IdentifyRequest([path]), slider_model)
    identify_recordings(IdentifyRequest([path], loading={'truth': True}), slider_model)
    options = {'validation': [path, path]}
    found = identify_recordings(ReduceRequest([path], options=options), slider_model)
    assert found.reduction is not None
    assert seen == [{'truth': False}, {'truth': True}, {'truth': True}, {}, {}]


def test_an_output_that_exists_is_not_overwritten(tmp_path):
    IdentifyRequest(['x'], output=str(tmp_path / 'new.yaml'))
    IdentifyRequest(['x'], output='')
    (tmp_path / 'old.yaml').touch()
    found = refusal(IdentifyRequest, ['x'], output=str(tmp_path / 'old.yaml'))
    assert found.code is Code.CANNOT_WRITE and 'exists already' in str(found)


def test_options_of_loading_are_taken_out():
    name = identify_request.LOAD
    options = {name: {'effort_unit': 'A'}, 'fixed': 1}
    assert loading_options(options) == {'effort_unit': 'A'} and options == {'fixed': 1}
    assert loading_options({}) == loading_options({name: None}) == loading_options({name: {}}) == {}
    for wrong in (['effort_unit'], 'A', {1: 'A'}, {'effort_unit': 'A', 2: 'B'}):
        found = refusal(loading_options, {name: wrong})
        assert found.code is Code.BAD_OPTION and f"option '{name}' must be a mapping" in str(found)


# -- comparison and validation ----------------------------------------------------


def test_which_estimators_are_compared():
    assert CompareRequest(['x'], ['ls', 'wls']).estimators == ('ls', 'wls')
    assert CompareRequest(['x'], ['rigid'], of_models='irls').estimators == ('irls',)
    every = CompareRequest(['x']).estimators
    assert {'ls', 'wls', 'irls'} < set(every)
    assert refusal(CompareRequest, ['x'], of_models='best').code is Code.UNKNOWN_ESTIMATOR


def test_reduced_models_are_compared_by_their_names(saved, slider_model, monkeypatch):
    """Unknown ones are refused before anything is read."""
    seen = []

    def find(description, name):
        if name == 'nothing':
            raise EstimationError("no model 'nothing'")

    def compare(data, model, estimator, **options):
        seen.append(
            (estimator, options['levels'], options['threshold'], len(options['validation']))
        )
        return []

    monkeypatch.setattr(compare_request, 'find_reduction', find)
    monkeypatch.setattr(compare_request, 'compare_models', compare)
    request = CompareRequest(['absent.npz'], ['full', 'nothing'], of_models='ls')
    found = refusal(compare_on_recordings, request, slider_model)
    assert found.code is Code.BAD_OPTION and str(found) == "no model 'nothing'"
    path = saved()
    for names in ((), ('full', 'geometry')):
        request = CompareRequest([path], names, 'ls', [path, path], threshold=7.0)
        compare_on_recordings(request, slider_model)
    assert seen == [('ls', None, 7.0, 2), ('ls', ['full', 'geometry'], 7.0, 2)]
    absent = CompareRequest(['absent.npz'], ['ls'])
    assert refusal(compare_on_recordings, absent, slider_model).code is Code.BAD_DATA


def test_one_candidate_with_figures_suffices():
    failed, good = (
        SimpleNamespace(name='a', result=r, error='no period') for r in (None, 'figures')
    )
    require_figures([failed, good])
    found = refusal(require_figures, [failed, failed])
    assert str(found) == 'a: no period; a: no period' and found.code is Code.ESTIMATION_FAILED


@pytest.mark.parametrize('rollout', [None, True, False, [0.1, 0.2]])
def test_rollouts_are_asked_for_by_a_flag_or_by_times(rollout):
    ValidateRequest('x', 'y', {'rollout': rollout})


@pytest.mark.parametrize('rollout', [[], [0.0], 'x'])
def test_rollouts_without_positive_times_are_refused(rollout):
    assert refusal(ValidateRequest, 'x', 'y', {'rollout': rollout}).code is Code.BAD_OPTION


# -- application ------------------------------------------------------------------


@pytest.fixture
def result(monkeypatch):
    """The result that every model file holds."""
    own = SimpleNamespace(
        force_constants=None,
        is_physical=True,
        consistent=SimpleNamespace(p_value=1e-3, violations=('a', 'b'), distance=2.5),
        as_physical=lambda: 'physical',
        diagnostics=SimpleNamespace(force_errors=SimpleNamespace(relative=np.array([0.3, 0.4]))),
        provenance=SimpleNamespace(data=({'sha256': '1', 'source': 'own.npz'},)),
    )
    monkeypatch.setattr(apply_request, 'load_model_file', lambda path, model: own)
    return own


def test_models_that_the_data_contradict_are_not_applied(result, slider_model):
    result.is_physical = False
    for p_value in (1e-3, 1e-4, float('nan')):
        result.consistent.p_value = p_value
        found = refusal(applicable_model, ApplyRequest('m.yaml'), slider_model)
        assert found.code is Code.NOT_PHYSICAL and "'m.yaml' is not physical (a; b)" in str(found)
    result.consistent.p_value = 1.1e-3
    applied = applicable_model(ApplyRequest('m.yaml'), slider_model)
    assert '2.50 standard deviations away' in applied.remarks[0]
    result.is_physical = True
    assert applicable_model(ApplyRequest('m.yaml'), slider_model).remarks == ()


def recording_of(path):
    """A recording whose hash is told by its name."""
    return SimpleNamespace(provenance={'sha256': '12'['other' in path], 'source': path})


def test_something_held_out_speaks_for_a_model_or_that_is_waived(result, slider_model, monkeypatch):
    held_out = np.sqrt(np.mean(np.square([0.3, 0.4])))
    applicable_model(ApplyRequest('m.yaml', '', held_out + 1e-6), slider_model)
    for limit in (held_out - 1e-6, 0.0, float('nan')):
        found = refusal(applicable_model, ApplyRequest('m.yaml', '', limit), slider_model)
        assert found.code is Code.VALIDATION_FAILED
    result.diagnostics.force_errors = None
    found = refusal(applicable_model, ApplyRequest('m.yaml'), slider_model)
    assert found.code is Code.VALIDATION_FAILED and 'set waive_validation' in str(found)
    waived = applicable_model(ApplyRequest('m.yaml', waive_validation=True), slider_model)
    assert 'validation was waived' in waived.remarks[0]

    validation = SimpleNamespace(against_measured=SimpleNamespace(overall=0.1))
    monkeypatch.setattr(apply_request, 'load', recording_of)
    monkeypatch.setattr(apply_request, 'validate', lambda *given: validation)
    for path in ('own.npz', 'own.npz:0-3'):
        found = refusal(applicable_model, ApplyRequest('m.yaml', path), slider_model)
        assert 'was identified from' in str(found)
    applicable_model(ApplyRequest('m.yaml', 'other.npz'), slider_model)
    result.provenance.data = ({'sha256': '1', 'source': 'own.npz:0-3'},)
    applicable_model(ApplyRequest('m.yaml', 'own.npz:3-'), slider_model)


@pytest.mark.parametrize(('error', 'applied'), [(0.2, True), (0.25, True), (0.251, False)])
def test_the_error_on_a_recording_is_limited(result, slider_model, monkeypatch, error, applied):
    validation = SimpleNamespace(against_measured=SimpleNamespace(overall=error))
    monkeypatch.setattr(apply_request, 'load', recording_of)
    monkeypatch.setattr(apply_request, 'validate', lambda *given: validation)
    request = ApplyRequest('m.yaml', 'other.npz', 0.25)
    if applied:
        assert applicable_model(request, slider_model).result is result
    else:
        found = refusal(applicable_model, request, slider_model)
        assert found.code is Code.VALIDATION_FAILED
        assert "on 'other.npz' is 0.251, at most 0.25" in str(found)
        applicable_model(ApplyRequest('m.yaml'), slider_model)  # without a recording
    validation.against_measured.overall = float('nan')
    assert refusal(applicable_model, request, slider_model).code is Code.VALIDATION_FAILED
    validation.against_measured.overall = 0.5
    applicable_model(ApplyRequest('m.yaml', 'other.npz'), slider_model)
    validation.against_measured.overall = 0.51
    refusal(applicable_model, ApplyRequest('m.yaml', 'other.npz'), slider_model)


@pytest.mark.parametrize(
    ('own', 'named'),
    [
        (None, ''),
        ({}, ''),
        ({'left': 20.0, 'right': 25.0}, ''),
        ({'left': 20.19, 'right': 24.76}, ''),  # the described ones are less than 1 % off
        ({'left': 20.21, 'right': 25.0}, "'left': 20.21, described 20"),
        ({'left': 20.0, 'right': 24.74}, "'right': 24.74, described 25"),
        ({'left': 20.5, 'right': 30.0}, "'right': 30, described 25"),
        ({'left': 30.0, 'right': 25.5}, "'left': 30, described 20"),
        ({'right': 30.0}, "'right': 30, described 25"),
    ],
)
def test_models_on_other_force_constants_are_remarked(result, slider_model, own, named):
    result.force_constants = None if own is None else SimpleNamespace(by_joint=own)
    remarks = applicable_model(ApplyRequest('m.yaml'), slider_model).remarks
    assert len(remarks) == (1 if named else 0)
    assert named in ''.join(remarks)


# -- checked and designed motions -------------------------------------------------


ROBOT = SimpleNamespace(
    actuated_joints=['left', 'right'],
    home_actuators=np.array([0.1, 0.2]),
    home_position=np.array([1.0, 2.0, 3.0]),
    home_rotation=np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),  # yaw 90 deg
    forward_kinematics=lambda q: (np.append(q[0], 7.0)[None], np.eye(3)[None]),
)


def joint_motion(names=('left', 'right')):
    centre = [0.5, 0.6] if tuple(names) == ('left', 'right') else [0.6, 0.5]
    sine = np.array([[0.01], [0.02]])
    return FourierTrajectory(
        1.0, centre, sine, 0 * sine, coordinates='actuators', coordinate_names=list(names)
    )


def platform_motion():
    sine = np.full((6, 1), 0.01)
    return FourierTrajectory(1.0, [1.0, 2.0, 3.0, 0.0, 0.0, 0.0], sine, 0 * sine)


@pytest.mark.parametrize('names', [('left', 'right'), ('right', 'left')])
def test_where_a_motion_of_joints_begins(names):
    """At home, else where the robot was measured, by the names of the joints; else on its path."""
    trajectory = joint_motion(names)
    for fields, expected in (
        ({'from_home': True}, [0.1, 0.2]),
        ({'start': np.array([0.3, 0.4])}, [0.3, 0.4]),
        ({'start': np.array([0.3, 0.4]), 'from_home': True}, [0.1, 0.2]),
    ):
        found = planned_motion(CheckRequest(trajectory, 0.5, **fields), ROBOT)
        order = [ROBOT.actuated_joints.index(name) for name in names]
        np.testing.assert_allclose(found.start, np.array(expected)[order])
        assert found.approach_time > 0
    found = planned_motion(CheckRequest(trajectory, 0.5), ROBOT)
    assert found.approach_time == 0.0


def test_a_motion_of_other_joints_is_refused():
    request = CheckRequest(joint_motion(('left', '-1')), 0.5, start=np.array([0.3, 0.4]))
    with pytest.raises(
        TrajectoryError, match='moves left, -1; the actuated joints are left, right'
    ):
        planned_motion(request, ROBOT)


def test_where_a_motion_of_the_platform_begins():
    trajectory = platform_motion()
    for fields, expected in (
        ({'from_home': True}, [1, 2, 3, 0, 0, np.pi / 2]),
        ({'start': [0.3, 0.4]}, [0.3, 0.4, 7, 0, 0, 0]),
        ({'start': [0.3, 0.4], 'from_home': True}, [1, 2, 3, 0, 0, np.pi / 2]),
    ):
        found = planned_motion(CheckRequest(trajectory, 0.5, **fields), ROBOT)
        np.testing.assert_allclose(found.start, expected, atol=1e-12)
    assert planned_motion(CheckRequest(trajectory, 0.5), ROBOT).approach_time == 0.0


def test_how_a_motion_is_run():
    request = CheckRequest(joint_motion(), 0.5, 3, from_home=True, approach_speed=0.05)
    found = planned_motion(request, ROBOT)
    assert (found.periods, found.ramp_time, found.approach_speed) == (3, 0.5, 0.05)
    plain = planned_motion(CheckRequest(joint_motion(), 0.7), ROBOT)
    assert (plain.periods, plain.ramp_time, plain.approach_speed) == (1, 0.7, 0.1)
    with pytest.raises(TrajectoryError, match='periods'):
        planned_motion(CheckRequest(joint_motion(), 0.5, 0), ROBOT)


@pytest.fixture
def designed(monkeypatch):
    """What `design_excitation` gets, in place of a search."""
    found = {}

    def design(model, criterion, **options):
        found.update(options, criterion=criterion)
        return Design()

    monkeypatch.setattr(design_request, 'design_excitation', design)
    monkeypatch.setattr(design_request, 'noise_covariance', lambda model, noise: f'of {noise}')
    return found


@dataclasses.dataclass(frozen=True)
class Design:
    origin: dict = dataclasses.field(default_factory=lambda: {'cancelled': True})


def test_a_request_of_a_design_in_full(designed, slider_model):
    request = DesignRequest(
        {'a': 1.0}, {'starts': 3, 'workers': 1}, {'rates': None, 'stroke_margin': 0.02}, 'unit'
    )
    design = design_motion(request, slider_model, 'progress', 'cancel')
    assert design.origin == {'cancelled': True, 'noise': 'unit'}
    assert designed['criterion'] == {'a': 1.0} and designed['noise_covariance'] == 'of unit'
    assert (designed['starts'], designed['workers']) == (3, 1)
    assert designed['limits'] == design_request.DesignLimits(stroke_margin=0.02)
    assert (designed['prior'], designed['initial']) == (None, None)
    assert (designed['progress'], designed['cancel']) == ('progress', 'cancel')


def test_a_design_adds_to_that_of_a_file(designed, slider_model, tmp_path, monkeypatch):
    """Of a design or of a model file; what is no file is said to be none by who reads models."""
    monkeypatch.setattr(design_request, 'is_design', lambda path: path.name == 'design.yaml')
    monkeypatch.setattr(
        design_request, 'ExcitationDesign', SimpleNamespace(load=lambda path, model: 'design')
    )
    monkeypatch.setattr(design_request, 'load_result', lambda path, model: 'model')
    for name in ('design.yaml', 'model.yaml'):
        (tmp_path / name).touch()
        design_motion(DesignRequest(prior=str(tmp_path / name)), slider_model)
        assert designed['prior'] == name.removesuffix('.yaml')
    design_motion(DesignRequest(prior=str(tmp_path / 'absent' / 'design.yaml')), slider_model)
    assert designed['prior'] == 'model'
