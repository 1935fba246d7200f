"""Settings of all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator

import pytest
import slow_tests
from ros_domain import session_domain

# Processes of pytest-xdist run tests of nodes side by side, and take one core each.
IS_WORKER = 'PYTEST_XDIST_WORKER' in os.environ
if IS_WORKER:
    os.environ['ROS_DOMAIN_ID'] = str(session_domain())
    for library in ('OMP', 'OPENBLAS'):
        os.environ.setdefault(f'{library}_NUM_THREADS', '1')  # read where NumPy is imported

# In the background of a shell without job control Ctrl-C is ignored, and so it would be by the
# processes that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

PROCESSOR_TIME = 'processor time'


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of which a measurement said that they are slow; begin with the longest files.

    A long file at the end would leave the other processes nothing to do. Where colcon runs the
    tests of one package, in its folder, they have other names, and all run in one process.
    """
    if config.rootpath != slow_tests.ROOT:
        return
    slow = slow_tests.listed()
    for item in items:
        if slow_tests.function_of(item.nodeid) in slow:
            item.add_marker(pytest.mark.slow)
    times = slow_tests.time_of_files([item.nodeid for item in items])
    items.sort(key=lambda item: -times[slow_tests.file_of(item.nodeid)])


def _timed(item: pytest.Item) -> Generator[None, None, None]:
    """Add the processor time of a phase, child processes included, to the item's report."""
    before = sum(os.times()[:4])
    yield
    item.user_properties.append((PROCESSOR_TIME, sum(os.times()[:4]) - before))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Measure the fixtures."""
    yield from _timed(item)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Measure the test."""
    yield from _timed(item)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Measure what fixtures end: the time of a process counts then."""
    yield from _timed(item)


class _Times:
    """Processor times and marks of the tests of a run, in the process that sums up."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.marked: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == 'teardown':
            times = [value for name, value in report.user_properties if name == PROCESSOR_TIME]
            self.seconds[report.nodeid] = round(float(sum(times)), 3)  # type: ignore[arg-type]
            if {'slow', 'ros'} & set(report.keywords):
                self.marked.add(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        slow_tests.keep(self.seconds)
        unmarked = {n: t for n, t in self.seconds.items() if n not in self.marked}
        times = slow_tests.largest(unmarked)
        found = {name: time for name, time in times.items() if time > slow_tests.SLOW}
        if found:
            terminalreporter.section('slow tests that `make quick` does not leave out')
            for name, time in sorted(found.items(), key=lambda pair: -pair[1]):
                terminalreporter.line(f'{time:6.1f} s  {name}')
            terminalreporter.line('python tests/helpers/slow_tests.py writes their list anew')


def pytest_configure(config: pytest.Config) -> None:
    """Sum up in the process that reports, not in those that run the tests."""
    if not IS_WORKER and config.rootpath == slow_tests.ROOT:
        config.pluginmanager.register(_Times(), 'processor times')
