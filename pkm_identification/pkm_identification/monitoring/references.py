"""Recordings without any disturbance, with the forces that a robot is watched by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pkm_description.errors import DatasetError, EstimationError
from pkm_identification.datasets import Recording
from pkm_identification.datasets.data_file import DataFile
from pkm_identification.monitoring.drive_monitor import DriveMonitor, DriveVerdict
from pkm_identification.monitoring.monitor import FALSE_ALARMS, WINDOW, ForceMonitor, Verdict
from pkm_identification.result.result import IdentificationResult

FORCES = ('auto', 'commanded', 'measured')


class RobotMonitor(NamedTuple):
    """What watches a robot: forces on it, and, where commands are known, what its drives give."""

    contact: ForceMonitor
    drives: DriveMonitor | None = None

    @classmethod
    def calibrated(
        cls,
        result: IdentificationResult,
        measured: list[Recording],
        commanded: list[Recording],
        window: float = WINDOW,
        false_alarms: float = FALSE_ALARMS,
    ) -> RobotMonitor:
        """Return the monitor of recordings (`for_model`) of the same motions.

        With `commanded` forces these are compared with the model, as what the drives make of
        commands, and the drives' measured forces with the commands: the noise of their sensors
        then hides no push. Without, measured forces are compared with the model. `false_alarms` a
        day in all. Raises EstimationError where the recordings are too short to tell.
        """
        if not commanded:
            return cls(ForceMonitor.calibrated(result, measured, window, false_alarms))
        share = 0.5 * false_alarms
        pairs = list(zip(commanded, measured, strict=True))
        drives = DriveMonitor.calibrated(pairs, window, share)
        given = [drives.response.recorded(each) for each in commanded]
        return cls(ForceMonitor.calibrated(result, given, window, share), drives)

    def watched(
        self, measured: Recording, commanded: Recording | None
    ) -> tuple[Verdict | None, DriveVerdict | None]:
        """Return what recordings of one motion show of forces on the robot, and of its drives.

        None where they are too short to tell.
        """
        if self.drives is None or commanded is None:
            return self.contact.watched(measured), None
        given = self.drives.response.recorded(commanded)
        return self.contact.watched(given), self.drives.watched(commanded, measured)


def references(
    paths: Sequence[str], result: IdentificationResult, forces: str = 'auto'
) -> tuple[list[Recording], list[Recording]]:
    """Return the recordings with measured forces, and with commanded ones.

    The latter are empty where `forces` is `measured`, or `auto` and a recording holds no commands.
    Raises DatasetError for a recording that cannot be read, and, with `commanded`, for one
    without commands.
    """
    if forces not in FORCES:
        raise EstimationError(f"unknown forces '{forces}'; valid are {', '.join(FORCES)}")
    constants = None if result.force_constants is None else result.force_constants.by_joint
    model = result.model
    wanted = ('measured',) if forces == 'measured' else ('measured', 'commanded')
    files = [DataFile(path, wanted, truth=False) for path in paths]
    measured = [file.recording('measured').for_model(model, constants) for file in files]
    if forces == 'measured':
        return measured, []
    try:
        told = [file.recording('commanded').for_model(model) for file in files]
    except DatasetError:
        if forces == 'commanded':
            raise
        return measured, []
    return measured, told
