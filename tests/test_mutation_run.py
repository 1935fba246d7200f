"""The mutation run: what it changes is seen by the tests, and its targets are there."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / 'scripts' / 'mutate.py'


@pytest.fixture(scope='module')
def mutate():
    specification = importlib.util.spec_from_file_location('mutate', SCRIPT)
    module = importlib.util.module_from_spec(specification)
    sys.modules['mutate'] = module
    specification.loader.exec_module(module)
    yield module
    del sys.modules['mutate']


def test_every_target_has_modules_and_tests(mutate) -> None:
    for modules, tests in mutate.TARGETS.values():
        assert mutate._files(modules) and mutate._files(tests)
    with pytest.raises(SystemExit, match='no file is called'):
        mutate._files(['pkm_control/nothing*.py'])


def test_what_does_not_run_is_no_mutant(mutate) -> None:
    source = (
        'from __future__ import annotations\ndef f(x: int | None) -> int | None:\n    y: {} = {}\n'
    )
    plain = mutate._what_runs(source.format('int', 1))
    assert mutate._what_runs(source.format('int & str', 1).replace('|', '&')) == plain
    assert mutate._what_runs(source.format('int', 2)) != plain
    signature = 'def f(a, {}, b=3): return a * b'  # the star is no operator
    plain = mutate._what_runs(signature.format('*'))
    assert mutate._what_runs(signature.format('/')) == plain
    assert mutate._what_runs(signature.format('*').replace('a * b', 'a / b')) != plain


def test_a_changed_source_is_imported_in_place_of_the_file(mutate, tmp_path, monkeypatch) -> None:
    path = tmp_path / 'changed_by_a_mutant.py'
    path.write_text('VALUE = 1\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, 'meta_path', [mutate.ChangedSource(path, 'VALUE = 2'), *sys.meta_path])
    import changed_by_a_mutant

    assert changed_by_a_mutant.VALUE == 2 and path.read_text() == 'VALUE = 1\n'
    del sys.modules['changed_by_a_mutant']


@pytest.mark.parametrize(('body', 'expected'), [('assert True', 0), ('assert False', 1)])
def test_a_child_tells_whether_the_tests_notice(mutate, tmp_path, body, expected) -> None:
    test = tmp_path / 'test_something.py'
    test.write_text(f'def test():\n    {body}\n')
    status, seconds = mutate.wait(mutate.start([test], None, 60.0, tmp_path / 'log'), 300.0)
    assert status == expected and seconds > 0.0
