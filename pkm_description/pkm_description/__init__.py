"""Closed-chain robot descriptions: URDF with loops, checked.

A name is imported when it is asked for: who asks for an error type does not wait for a parser;
`__init__.pyi` has the types.
"""

from __future__ import annotations

from pkm_description.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        'Actuator': 'description',
        'Constraint': 'description',
        'ConvergenceError': 'errors',
        'DatasetError': 'errors',
        'Description': 'description',
        'DescriptionError': 'errors',
        'DriveTerms': 'description',
        'EstimationError': 'errors',
        'ExportError': 'errors',
        'FeasibilityError': 'errors',
        'Friction': 'description',
        'Inertial': 'description',
        'Joint': 'description',
        'KinematicsError': 'errors',
        'Limit': 'description',
        'Link': 'description',
        'ModelFileError': 'errors',
        'Motor': 'description',
        'MotorSide': 'transmissions.motor_side',
        'Payload': 'payload',
        'PkmError': 'errors',
        'Pose': 'description',
        'RedundantActuationError': 'errors',
        'Ripple': 'description',
        'SimulationError': 'errors',
        'TrajectoryError': 'errors',
        'Transmission': 'description',
        'UnderactuatedError': 'errors',
        'build_export': 'exporters',
        'examples': 'loader',
        'export': 'exporters',
        'library': 'loader',
        'load': 'loader',
        'loads': 'loader',
        'payload_of': 'payload',
        'with_drive_terms': 'drives',
        'with_force_constants': 'payload',
        'with_load_friction': 'friction',
        'with_payload': 'payload',
    },
)
