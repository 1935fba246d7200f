"""Closed-chain robot descriptions: URDF with loops, checked."""

from pkm_description.description import (
    Actuator,
    Constraint,
    Description,
    Friction,
    Inertial,
    Joint,
    Limit,
    Link,
    Pose,
)
from pkm_description.errors import (
    ConvergenceError,
    DatasetError,
    DescriptionError,
    EstimationError,
    ExportError,
    FeasibilityError,
    KinematicsError,
    ModelFileError,
    PkmError,
    SimulationError,
    TrajectoryError,
    UnderactuatedError,
)
from pkm_description.exporters import build_export, export
from pkm_description.loader import library, load, loads
from pkm_description.payload import Payload, payload_of, with_force_constants, with_payload

__all__ = [
    'Actuator',
    'Constraint',
    'ConvergenceError',
    'DatasetError',
    'Description',
    'DescriptionError',
    'EstimationError',
    'ExportError',
    'FeasibilityError',
    'Friction',
    'Inertial',
    'Joint',
    'KinematicsError',
    'Limit',
    'Link',
    'ModelFileError',
    'Payload',
    'PkmError',
    'Pose',
    'SimulationError',
    'TrajectoryError',
    'UnderactuatedError',
    'build_export',
    'export',
    'library',
    'load',
    'loads',
    'payload_of',
    'with_force_constants',
    'with_payload',
]
