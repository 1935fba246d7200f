"""The estimation server on real rclpy."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy')

from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import DiagnosticArray
from graph import Graph
from rclpy.action import ActionClient

import pkm_description
from pkm_dynamics import ClosedChainModel
from pkm_identification import identify as identify_directly
from pkm_identification import load, load_result, reduce_model, validate
from pkm_identification.model_selection.identifiability import identifiability
from pkm_identification.model_selection.model_comparison import compare_estimators
from pkm_identification.nodes.estimation_server import EstimationServer
from pkm_identification.requests import identify_request
from pkm_msgs.action import Compare, IdentifyWithProgress
from pkm_msgs.srv import ApplyModel, Identify, SetModel, Validate

pytestmark = pytest.mark.ros
PERIOD, RATE, PERIODS = 2.0, 250.0, 4


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(pkm_description.load('palida'))


@pytest.fixture(scope='module')
def data(model, tmp_path_factory):
    """Two recordings of periodic motions with small noise, as currents."""
    folder = tmp_path_factory.mktemp('data')
    paths = []
    for seed in (1, 2):
        random = np.random.default_rng(seed)
        time = np.arange(round(PERIODS * PERIOD * RATE)) / RATE
        angle = 2 * np.pi / PERIOD * np.arange(1, 5)
        sine, cosine = 0.008 * random.normal(size=(2, 4, 6)) / np.arange(1, 5)[:, None]
        s, c = np.sin(np.outer(time, angle)), np.cos(np.outer(time, angle))
        q = model.home_actuators + s @ sine + c @ cosine
        qd = (c * angle) @ sine - (s * angle) @ cosine
        qdd = -(s * angle**2) @ sine - (c * angle**2) @ cosine
        forces = model.inverse_dynamics(model.motion_from_actuators(q, qd, qdd))
        measured = forces + 0.5 * random.normal(size=forces.shape)
        path = folder / f'data{seed}.npz'
        order = random.permutation(6)
        np.savez(
            path,
            time=time,
            joint_names=[model.actuated_joints[i] for i in order],
            positions=(q + 1e-6 * random.normal(size=q.shape))[:, order],
            currents=(measured / model.force_constants)[:, order],
            period=PERIOD,
        )
        paths.append(str(path))
    return paths


@pytest.fixture
def graph():
    with Graph('data_folder:=/') as graph:
        graph.add(EstimationServer)
        graph.received = []
        graph.answer = SetModel.Response(success=True)

        def set_model(request, response):
            graph.received.append(request)
            return graph.answer

        graph.serve = lambda: graph.tester.create_service(
            SetModel, 'trajectory_controller/set_model', set_model
        )
        yield graph


def identify(graph, data, output='', **fields):
    request = Identify.Request(data=data, estimator='gauss_markov', output=str(output))
    for name, value in fields.items():
        setattr(request, name, value)
    return graph.call(Identify, 'estimation_server/identify', request)


def test_identify_validate_apply(graph, data, model, tmp_path):
    graph.serve()
    output = tmp_path / 'model.yaml'
    response = identify(graph, data[0], output)
    assert response.success, response.error_msg
    assert response.error_code == Identify.Response.NONE
    parameters = response.parameters
    base = model.base_parameters(shared=True, reduced=True)
    z = (np.array(parameters.value) - base.matrix @ model.nominal_parameters) / np.sqrt(
        np.diag(np.reshape(parameters.covariance, (base.rank, base.rank)))
    )
    assert (np.abs(z) < 4).all()
    assert yaml.safe_load(response.diagnostics)['signals']['periods'] == PERIODS
    np.testing.assert_array_equal(load_result(output, model).values, parameters.value)

    request = Validate.Request(data=data[1], model=str(output))
    validated = graph.call(Validate, 'estimation_server/validate', request)
    assert validated.success, validated.error_msg
    assert validated.relative_absolute_error_overall < 0.1

    request = ApplyModel.Request(model=str(output), validation_data=data[1], rotor=False)
    applied = graph.call(ApplyModel, 'estimation_server/apply_model', request)
    assert applied.success, applied.error_msg
    (sent,) = graph.received
    assert (sent.source, sent.rigid_body, sent.rotor) == ('identified', True, False)
    assert sent.parameters.description_digest == model.description.digest
    assert list(sent.parameters.standard_name) == model.parameter_names

    request.max_relative_absolute_error = 1e-3
    refused = graph.call(ApplyModel, 'estimation_server/apply_model', request)
    assert refused.error_code == ApplyModel.Response.VALIDATION_FAILED
    graph.answer = SetModel.Response(success=False, error_msg='not now')
    request.max_relative_absolute_error = 0.5
    refused = graph.call(ApplyModel, 'estimation_server/apply_model', request)
    assert refused.error_code == ApplyModel.Response.REFUSED_BY_CONTROLLER
    assert refused.error_msg == 'not now'


def options(**values):
    texts = [yaml.safe_dump(value) for value in values.values()]
    return {'option_name': list(values), 'option_value': texts}


def test_services_give_what_the_library_gives(graph, data, model, tmp_path):
    earlier = tmp_path / 'earlier.yaml'
    assert identify(graph, data[1], earlier).success
    asked = {
        'fixed': {'platform.mz': [0.1, 0.02], 'leg1_strut.viscous': None},
        'estimate': ['platform.*', '*.viscous', 'leg_*'],
        'harmonics': 6,
    }
    response = identify(graph, data[0], tmp_path / 'a.yaml', **options(prior=str(earlier), **asked))
    assert response.success, response.error_msg
    prior = load_result(earlier, model)
    expected = identify_directly(load(data[0]), model, 'gauss_markov', prior=prior, **asked)
    np.testing.assert_allclose(response.parameters.value, expected.values, rtol=1e-9)
    np.testing.assert_allclose(
        np.reshape(response.parameters.covariance, expected.covariance.shape),
        expected.covariance,
        rtol=1e-7,
        atol=1e-15,
    )
    report = yaml.safe_load(response.diagnostics)
    assert report['fixed'] == expected.diagnostics['fixed']
    assert report['residual_analysis'][0]['rms'] == pytest.approx(expected.residual_analysis[0].rms)
    assert len(report['identifiability']) == len(expected.names)
    assert list(report['expressions'].items()) == list(
        zip(expected.names, expected.expressions, strict=True)
    )
    assert report['provenance']['data']['sha256'] == expected.provenance['data']['sha256']

    both = identify(graph, data[0], further_data=[data[1]])
    together = identify_directly([load(path) for path in data], model, 'gauss_markov')
    np.testing.assert_allclose(both.parameters.value, together.values, rtol=1e-9)

    request = Validate.Request(
        data=data[1], model=str(tmp_path / 'a.yaml'), **options(level=0.5, rollout=[0.02])
    )
    validated = graph.call(Validate, 'estimation_server/validate', request)
    assert validated.success, validated.error_msg
    direct = validate(load(data[1]), expected, model, level=0.5, rollout=[0.02])
    assert validated.coverage == pytest.approx(direct.coverage.measured_overall)
    np.testing.assert_allclose(validated.variance_ratio, direct.noise_test.variance_ratio)
    assert list(validated.is_unbiased) == direct.is_unbiased.tolist()
    found = yaml.safe_load(validated.report)
    np.testing.assert_allclose(found['rollout']['platform'], direct.rollout.platform, rtol=1e-6)
    request = Validate.Request(data=data[1], model=str(earlier), **options(levl=0.5))
    refused = graph.call(Validate, 'estimation_server/validate', request)
    assert refused.error_code == Validate.Response.BAD_OPTION and "'levl'" in refused.error_msg


def test_patterns_need_no_quotes_in_a_service(graph, data):
    response = identify(
        graph, data[0], option_name=['estimate'], option_value=['[*.viscous, *.coulomb]']
    )
    assert response.success, response.error_msg


def test_reduction_as_a_service(graph, data, model):
    response = identify(graph, data[0], **options(reduce=True, threshold=1.0, validation=data[1]))
    assert response.success, response.error_msg
    expected = reduce_model(
        load(data[0]), model, 'gauss_markov', threshold=1.0, validation=load(data[1])
    )
    steps = yaml.safe_load(response.diagnostics)['reduction']
    assert [step['dropped'] for step in steps[:-1]] == list(expected.dropped)
    np.testing.assert_allclose(response.parameters.value, expected.result.values, rtol=1e-9)


def test_refusals_of_identify(graph, data, tmp_path):
    (tmp_path / 'there.yaml').write_text('mine')
    code = Identify.Response
    for fields, expected, text in (
        ({'data': str(tmp_path / 'none.npz')}, code.BAD_DATA, 'does not exist'),
        ({'estimator': 'best'}, code.UNKNOWN_ESTIMATOR, 'valid are ls'),
        ({'option_name': ['gain'], 'option_value': ['1']}, code.BAD_OPTION, "'gain'"),
        ({'option_name': ['shared'], 'option_value': ['2']}, code.BAD_OPTION, 'true or false'),
        (options(prior='none.yaml'), code.BAD_OPTION, "option 'prior': model file 'none.yaml'"),
        (options(fixed=['a']), code.BAD_OPTION, "option 'fixed' must be a mapping"),
        (options(estimate={}), code.BAD_OPTION, "option 'estimate' must be a name"),
        (options(fixed={'nobody.m': 1.0}), code.ESTIMATION_FAILED, "'nobody.m'"),
        (options(reduce=True, validation=3), code.BAD_OPTION, 'a list of paths'),
        (options(reduce='yes'), code.BAD_OPTION, "'reduce' must be true or false"),
        (options(held_at='zero'), code.BAD_OPTION, "unknown option 'held_at'"),
        (options(reduce=True, keep=3), code.BAD_OPTION, "option 'keep' must be a name"),
        (options(reduce=True, drive_gains=True), code.ESTIMATION_FAILED, "with 'drive_gains'"),
        (options(progress=1), code.BAD_OPTION, "unknown option 'progress'"),
        (options(period=[1, 2]), code.BAD_OPTION, "option 'period' must be a positive number [s]"),
        (options(harmonics=True), code.BAD_OPTION, "'harmonics' must be a whole number"),
        (options(payloads=3), code.BAD_OPTION, "option 'payloads' must be a list"),
        (
            options(threshold='x'),
            code.BAD_OPTION,
            "'threshold' must be a positive number [percent]",
        ),
        (options(level=1.0), code.BAD_OPTION, "option 'level' must be a number between 0 and 1"),
        (options(load='A'), code.BAD_OPTION, "option 'load' must be a mapping"),
        (options(load={'effort_unit': 'kg'}), code.BAD_DATA, "unknown effort_unit 'kg'"),
        ({'option_name': ['period']}, code.BAD_OPTION, '1 option names but 0 values'),
        ({'option_name': ['period'], 'option_value': ['99.0']}, code.ESTIMATION_FAILED, '99 s'),
        ({'output': str(tmp_path / 'there.yaml')}, code.CANNOT_WRITE, 'exists already'),
    ):
        response = identify(graph, **({'data': data[0]} | fields))
        assert not response.success
        assert response.error_code == expected, response.error_msg
        assert text in response.error_msg
    assert (tmp_path / 'there.yaml').read_text() == 'mine'


def test_what_nobody_foresaw_does_not_end_the_server(graph, data, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError('no such luck')

    with monkeypatch.context() as patch:
        patch.setattr(identify_request, 'identify', broken)
        response = identify(graph, data[0])
    assert response.error_code == Identify.Response.ESTIMATION_FAILED
    assert 'defect: RuntimeError: no such luck' in response.error_msg
    assert identify(graph, data[0]).success


def test_options_of_loading_and_of_the_report(graph, data, model, tmp_path):
    content = dict(np.load(data[0]))
    renamed = [f'motor_{name}' for name in content['joint_names']]
    efforts = {'efforts': content.pop('currents')}
    path = str(tmp_path / 'theirs.npz')
    np.savez(path, **{**content, **efforts, 'joint_names': renamed})
    joints = {f'motor_{name}': str(name) for name in content['joint_names']}
    loading = {'joints': joints, 'effort_unit': 'A'}
    asked = options(load=loading, level=0.5, threshold=1.0)
    response = identify(graph, path, tmp_path / 'a.yaml', **asked)
    assert response.success, response.error_msg
    expected = identify_directly(load(data[0]), model, 'gauss_markov')
    np.testing.assert_allclose(response.parameters.value, expected.values, rtol=1e-9)
    report = yaml.safe_load(response.diagnostics)
    intervals = np.array(list(report['confidence_intervals'].values()))
    np.testing.assert_allclose(intervals, expected.confidence_interval(0.5), rtol=1e-9)
    assert report['properly_identified'] == identifiability(expected, model, 1.0).count
    request = Validate.Request(data=path, model=str(tmp_path / 'a.yaml'), **options(load=loading))
    validated = graph.call(Validate, 'estimation_server/validate', request)
    assert validated.success, validated.error_msg


def test_refusals_of_models(graph, data, tmp_path):
    output = tmp_path / 'model.yaml'
    identify(graph, data[0], output)
    content = yaml.safe_load(output.read_text())

    def changed(name, **fields):
        path = tmp_path / name
        path.write_text(yaml.safe_dump(content | fields, sort_keys=False))
        return str(path)

    codes = ApplyModel.Response
    broken = tmp_path / 'broken.yaml'
    broken.write_text('a: 1')
    for path, expected in (
        (str(broken), codes.BAD_MODEL),
        (changed('other.yaml', robot='crane', description_digest='0'), codes.WRONG_ROBOT),
        (changed('impossible.yaml', is_physical=False, p_value_physical=1e-9), codes.NOT_PHYSICAL),
    ):
        request = ApplyModel.Request(model=path)
        response = graph.call(ApplyModel, 'estimation_server/apply_model', request)
        assert response.error_code == expected, response.error_msg
        assert not response.success
    request = Validate.Request(data=data[0], model=str(broken))
    response = graph.call(Validate, 'estimation_server/validate', request)
    assert response.error_code == Validate.Response.BAD_MODEL

    graph.serve()
    doubtful = changed('doubtful.yaml', is_physical=False, p_value_physical=0.4)
    request = ApplyModel.Request(model=doubtful)
    response = graph.call(ApplyModel, 'estimation_server/apply_model', request)
    assert response.success and 'nearest physical model' in response.error_msg


def test_no_controller(data, tmp_path):
    with Graph('controller_timeout:=0.3', 'data_folder:=/') as graph:
        graph.add(EstimationServer)
        output = tmp_path / 'model.yaml'
        identify(graph, data[0], output)
        request = ApplyModel.Request(model=str(output))
        response = graph.call(ApplyModel, 'estimation_server/apply_model', request)
    assert response.error_code == ApplyModel.Response.CONTROLLER_UNAVAILABLE


def send_goal(graph, feedback=None, action=IdentifyWithProgress, **fields):
    name = 'compare' if action is Compare else 'identify_with_progress'
    client = ActionClient(graph.tester, action, f'estimation_server/{name}')
    graph.until(client.server_is_ready)
    goal = action.Goal(**fields)
    sent = client.send_goal_async(goal, feedback_callback=feedback)
    graph.until(sent.done)
    return sent.result()


def test_action_reports_progress_and_result(graph, data):
    seen = []
    handle = send_goal(graph, lambda m: seen.append(m.feedback), data=data[0], estimator='ls')
    result = handle.get_result_async()
    graph.until(result.done)
    assert result.result().status == GoalStatus.STATUS_SUCCEEDED
    assert len(result.result().result.parameters.value) == 24
    graph.until(lambda: seen and seen[-1].fraction == 1.0)
    handle = send_goal(graph, data=data[0], estimator='best')
    result = handle.get_result_async()
    graph.until(result.done)
    assert result.result().status == GoalStatus.STATUS_ABORTED
    assert result.result().result.error_code == IdentifyWithProgress.Result.UNKNOWN_ESTIMATOR


def test_goals_at_once_are_done_one_after_the_other(graph, data):
    first = send_goal(graph, data=data[0], estimator='ls')
    second = send_goal(graph, data=data[1], estimator='wls')
    third = send_goal(graph, data=data[0], estimator='ls')
    answer = third.cancel_goal_async()
    results = [handle.get_result_async() for handle in (first, second, third)]
    for each in (answer, *results):
        graph.until(each.done)
    done, canceled = GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED
    assert [each.result().status for each in results] == [done, done, canceled]
    assert [each.result().result.parameters.estimator for each in results[:2]] == ['ls', 'wls']


def test_a_model_of_other_force_constants_is_applied_with_a_remark(graph, data, model, tmp_path):
    graph.serve()
    given = zip(model.actuated_joints, model.force_constants.tolist(), strict=True)
    constants = {name: 1.2 * value for name, value in given}
    output = tmp_path / 'model.yaml'
    assert identify(graph, data[0], output, **options(force_constants=constants)).success
    request = ApplyModel.Request(model=str(output))
    response = graph.call(ApplyModel, 'estimation_server/apply_model', request)
    assert response.success and "force constants unlike the description's" in response.error_msg


def compared(graph, **fields):
    handle = send_goal(graph, action=Compare, **fields)
    result = handle.get_result_async()
    graph.until(result.done, timeout=60.0)
    return result.result().status, result.result().result


def test_comparison_is_that_of_the_library(graph, data, model):
    seen = []
    chosen = options(cutoff=40.0, method='filter', threshold=10.0, law='atan')
    status, answer = compared(
        graph,
        feedback=lambda m: seen.append(m.feedback),
        data=data[0],
        validation=[data[1]],
        name=['wls', 'iv', 'ls'],
        **chosen,
    )
    # iv needs periods, and nobody chosen has a friction law
    assert answer.error_code == Compare.Result.BAD_OPTION and "'law'" in answer.error_msg
    chosen = options(cutoff=40.0, method='filter', threshold=10.0)
    status, answer = compared(
        graph,
        feedback=lambda m: seen.append(m.feedback),
        data=data[0],
        validation=[data[1]],
        name=['wls', 'iv', 'ls'],
        **chosen,
    )
    assert status == GoalStatus.STATUS_SUCCEEDED and answer.name == ['wls', 'iv', 'ls']
    found = compare_estimators(
        load(data[0]),
        model,
        ['wls', 'iv', 'ls'],
        validation=load(data[1]),
        threshold=10.0,
        cutoff=40.0,
        method='filter',
    )
    rows = [candidate.row() for candidate in found]
    assert [bool(text) for text in answer.failure] == [False, True, False]
    assert answer.failure[1] == rows[1]['failure']
    for k in (0, 2):
        assert answer.parameters[k] == rows[k]['parameters'] == 24
        assert answer.proper[k] == rows[k]['proper']
        assert answer.relative_absolute_error[k] == pytest.approx(rows[k]['error'])
        assert answer.held_out_error[k] == pytest.approx(rows[k]['held_out'])
        assert answer.is_physical[k] == rows[k]['is_physical'] and answer.seconds[k] > 0
    assert np.isnan(answer.held_out_error[1]) and answer.parameters[1] == 0
    told = yaml.safe_load(answer.report)['rows']
    assert told[0]['coverage'] == pytest.approx(rows[0]['coverage'])
    phases = [each.phase for each in seen]
    assert any(phase.startswith('wls: ') for phase in phases) and phases[-1] == 'done'


def test_comparison_of_models_and_refusals(graph, data):
    status, answer = compared(graph, data=data[0], estimator='ls', name=['geometry+shared'])
    assert status == GoalStatus.STATUS_SUCCEEDED and list(answer.parameters) == [24]
    codes = Compare.Result
    for fields, code, message in (
        ({'name': ['best']}, codes.UNKNOWN_ESTIMATOR, "'best'"),
        ({'estimator': 'ls', 'name': ['tiny']}, codes.BAD_OPTION, 'tiny'),
        ({'name': ['ls'], 'data': 'nowhere.npz'}, codes.BAD_DATA, 'nowhere.npz'),
        ({'name': ['ls'], **options(threshold=-1)}, codes.BAD_OPTION, 'threshold'),
        ({'name': ['iv'], **options(method='filter')}, codes.ESTIMATION_FAILED, 'iv: '),
    ):
        status, answer = compared(graph, **{'data': data[0], **fields})
        assert status == GoalStatus.STATUS_ABORTED
        assert answer.error_code == code and message in answer.error_msg, answer.error_msg


def test_long_work_leaves_the_server_responsive_and_can_be_canceled(graph, data, monkeypatch):
    begun, may_end = threading.Event(), threading.Event()

    def endless(dataset, model, estimator, progress=None, **options):
        begun.set()
        while not may_end.wait(0.02):
            progress('estimating', 0.5)
        raise AssertionError('was not canceled')

    monkeypatch.setattr(identify_request, 'identify', endless)
    graph.listen(DiagnosticArray, 'diagnostics')
    handle = send_goal(graph, data=data[0], estimator='ls')
    graph.until(begun.is_set)
    try:
        graph.until(
            lambda: any(m.status[0].message == 'working' for m in graph.heard['diagnostics'])
        )
        canceled = handle.cancel_goal_async()
        result = handle.get_result_async()
        graph.until(result.done)
    finally:
        may_end.set()
    assert canceled.result().goals_canceling
    assert result.result().status == GoalStatus.STATUS_CANCELED
    assert result.result().result.error_code == IdentifyWithProgress.Result.CANCELED


def test_files_stay_below_the_data_folder(data, tmp_path):
    inside = tmp_path / 'inside'
    inside.mkdir()
    (inside / 'link.npz').symlink_to(data[0])
    os.mkfifo(inside / 'pipe.npz')
    with Graph(f'data_folder:={inside}') as graph:
        graph.add(EstimationServer)
        codes = Identify.Response
        for name in (data[0], '/dev/zero', f'{inside}/../x', f'{inside}/link.npz'):
            response = identify(graph, name)
            assert response.error_code == codes.BAD_DATA, response.error_msg
            assert 'outside of the data folder' in response.error_msg
        response = identify(graph, f'{inside}/pipe.npz')
        assert (response.error_code, response.success) == (codes.BAD_DATA, False)
        assert 'not a regular file' in response.error_msg
        response = identify(graph, data[0], f'{inside}/../model.yaml')
        assert response.error_code == codes.CANNOT_WRITE
        response = identify(graph, data[0], **options(prior=str(tmp_path / 'x.yaml')))
        assert response.error_code == codes.BAD_OPTION
        request = Validate.Request(data=data[0], model=str(tmp_path / 'x.yaml'))
        response = graph.call(Validate, 'estimation_server/validate', request)
        assert response.error_code == Validate.Response.BAD_MODEL
        assert 'outside of the data folder' in response.error_msg
