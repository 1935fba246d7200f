"""Checks before, facts about and verdicts on recordings; free of ROS."""

from pkm_identification.recording.metadata import (
    dump_metadata,
    finished_metadata,
    recording_metadata,
)
from pkm_identification.recording.preflight import PreflightReport, SystemFacts, run_preflight
from pkm_identification.recording.verification import RecordingQuality, verify_recording

__all__ = [
    'PreflightReport',
    'RecordingQuality',
    'SystemFacts',
    'dump_metadata',
    'finished_metadata',
    'recording_metadata',
    'run_preflight',
    'verify_recording',
]
