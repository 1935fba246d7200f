"""Fixtures of the tests of the command."""

import re

import pytest
from excitations import excitation

from pkm_bringup import cli


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('cli')


@pytest.fixture(scope='module')
def trajectory(folder):
    path = folder / 'trajectory.yaml'
    excitation().save(path)
    return str(path)


@pytest.fixture
def fails(capsys):
    """The function that runs a command which must fail; returns its one line on stderr."""

    def run(*arguments, status=1):
        capsys.readouterr()
        assert cli.main([str(argument) for argument in arguments]) == status
        lines = [
            line for line in capsys.readouterr().err.splitlines() if not re.search(r' \d+ s$', line)
        ]
        assert len(lines) == 1, lines
        assert re.match(r'pkm( [\w-]+)*: error: ', lines[0])
        assert 'Traceback' not in lines[0] and 'defect' not in lines[0]
        return lines[0]

    return run


@pytest.fixture
def prints(capsys):
    """The function that runs a command which must succeed; returns what it prints."""

    def run(*arguments):
        capsys.readouterr()
        assert cli.main([str(argument) for argument in arguments]) == 0
        return capsys.readouterr().out

    return run
