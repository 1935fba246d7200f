"""Requests without ROS: what they refuse, with which code, and what they answer."""

import numpy as np
import pytest

from pkm_identification import identify, load, reduce_model, validate
from pkm_identification.nodes.estimation_messages import to_message
from pkm_identification.requests.apply_request import ApplyRequest, applicable_model
from pkm_identification.requests.compare_request import (
    CompareRequest,
    compare_on_recordings,
    require_figures,
)
from pkm_identification.requests.identify_request import (
    IdentifyRequest,
    ReduceRequest,
    identify_recordings,
)
from pkm_identification.requests.refusal import Code, Refused
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
