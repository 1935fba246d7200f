"""What an identification gives: parameters with uncertainty, residuals, verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
from scipy.special import ndtri, stdtrit

import pkm_description
import pkm_dynamics
from pkm_description.drives import drive_mapping, terms_of, with_only_drive_terms
from pkm_description.errors import EstimationError, ModelFileError
from pkm_description.friction import load_factors, with_only_load_friction
from pkm_dynamics.drive_forces import drive_constants
from pkm_identification.arrays import Array, freeze
from pkm_identification.covariance.axis_residuals import AxisResiduals
from pkm_identification.covariance.unidentifiable_directions import (
    UnidentifiableDirections,
    linear_deviation,
)
from pkm_identification.force_constants.force_constants import ForceConstants, given_constants
from pkm_identification.force_constants.payload_estimate import PayloadEstimate
from pkm_identification.physical.nearest import ConsistentParameters
from pkm_identification.result.diagnostics import Diagnostics, NoiseSource
from pkm_identification.result.guaranteed_set import GuaranteedSet
from pkm_identification.result.identified_friction import IdentifiedFriction
from pkm_identification.result.model_file import FORMAT, VERSION, version_of, write_model_file
from pkm_identification.result.provenance import Provenance


def check_level(level: float) -> float:
    """Return a level of confidence, or raise `EstimationError`."""
    if not isinstance(level, int | float) or not 0.0 < level < 1.0:
        raise EstimationError(f'the level must lie between 0 and 1, got {level!r}')
    return float(level)


@dataclass(frozen=True)
class IdentificationResult:
    """Identified base parameters of one robot.

    Attributes
    ----------
    names, units, expressions
        One per parameter: its name, unit, and the combination of standard parameters.
    values, covariance
        Estimate (r,) and covariance (r, r); an infinite variance marks what the data do
        not determine.
    estimator
        Name of the estimator.
    matrix
        Base parameters from standard parameters (r, n_p).
    columns
        Standard parameters with the same forces (n_p, r): regressor of the base
        parameters = regressor of the standard parameters @ columns.
    parameter_names
        Standard parameters (n_p).
    consistent
        Nearest physically consistent standard parameters and how far they are.
    joint_names
        Actuated joints, the order of forces.
    residuals
        Measured minus predicted forces (n, n_a) of the averaged data; None for a result
        that was loaded from a file.
    residual_rms
        (n_a,) [N, N m].
    robot, digest, path
        Which description it belongs to; no path for a robot of the library.
    file
        Model file that it was loaded from, else empty.
    guaranteed
        Set that holds the parameters for certain, as far as the bounds of the errors hold;
        of the estimator `ellipsoid`.
    force_constants
        Of the drives, where they were estimated; None: those of description or data.
    payloads
        Bodies that were fixed to the platform in some of the data; the parameters are those
        of the robot without them.
    diagnostics
        What is known of data, signals, fit and parameters; also a mapping of plain values.
    provenance
        Data (with the hashes of their files), options and versions that made it.
    residual_analysis
        Tests of the residuals, one entry a recording and actuator; empty where there is
        none (files of earlier releases).
    drive_friction
        Friction of the drives beyond the base parameters; None where it is linear.
    unidentifiable_directions
        What the data leave open of base parameters and force constants, and how well they
        determine the rest; None where they determine all, or the estimator does not tell.
    drive_terms
        Forces of the drives by position that the model has, by joint as in the section
        `drives` of a YAML file: also those that the description does not have.
    load_friction
        Nominal load factors that the model has, by joint, as `load` in the section `friction`
        of a YAML file: also those that the description does not have.
    load_parameters
        Standard parameters (n_p,) from which the joints' loads follow in predictions: those
        that the values were estimated with. None where no friction grows with loads.
    mechanism
        For predictions; None: `model` builds it from the description.
    """

    names: list[str]
    values: Array
    covariance: Array
    units: list[str]
    expressions: list[str]
    estimator: str
    matrix: Array
    columns: Array
    parameter_names: list[str]
    consistent: ConsistentParameters
    joint_names: list[str]
    residuals: Array | None
    residual_rms: Array
    robot: str
    digest: str
    path: str = ''
    file: str = ''
    guaranteed: GuaranteedSet | None = None
    force_constants: ForceConstants | None = None
    payloads: tuple[PayloadEstimate, ...] = ()
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    provenance: Provenance = field(default_factory=Provenance)
    residual_analysis: tuple[AxisResiduals, ...] = ()
    drive_friction: IdentifiedFriction | None = None
    unidentifiable_directions: UnidentifiableDirections | None = None
    drive_terms: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    load_friction: Mapping[str, float] = field(default_factory=dict)
    load_parameters: Array | None = None
    mechanism: pkm_dynamics.ClosedChainModel | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Copy and freeze the arrays."""
        names = ('values', 'covariance', 'matrix', 'columns', 'residual_rms', 'residuals')
        freeze(self, *names, 'load_parameters')

    @property
    def standard_deviation(self) -> Array:
        """Standard deviations (r,) of the values."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def relative_standard_deviation(self) -> Array:
        """100 sd / abs(value) [%] (r,) [M 5.3]; 0 for what is held at an exact value."""
        deviation = self.standard_deviation
        with np.errstate(divide='ignore', invalid='ignore'):
            return np.where(deviation > 0, 100 * deviation / np.abs(self.values), 0.0)

    def confidence_interval(self, level: float = 0.95) -> Array:
        """Return lower and upper ends (r, 2) that hold the true value with this probability.

        Normal quantiles where the noise is known from the spread over periods; Student's t with the
        degrees of freedom of the variances where these rest on the residuals. Infinite for what the
        data do not determine. Of a guaranteed set its own intervals, whatever the level: nothing is
        known of probabilities there.
        """
        reach = self._coverage_factors(level) * self.standard_deviation
        if self.guaranteed is not None:
            return self.guaranteed.intervals
        return np.stack([self.values - reach, self.values + reach], axis=1)

    def coverage_factor(self, level: float = 0.95) -> float:
        """Half the width of a typical confidence interval, in standard deviations."""
        return float(np.median(self._coverage_factors(level)))

    def _coverage_factors(self, level: float) -> Array:
        """Half the widths (r,) of the confidence intervals, in standard deviations."""
        check_level(level)
        fit, freedom = self.diagnostics.fit, np.full(len(self.values), np.inf)
        if fit is not None and fit.covariance_freedom is not None:
            freedom = fit.covariance_freedom[: len(freedom)]
        elif fit is not None and NoiseSource.RESIDUALS in fit.noise_from:
            freedom[:] = self.diagnostics.parameters.degrees_of_freedom or np.inf
        few = np.isfinite(freedom)
        student = stdtrit(np.where(few, freedom, 1.0), 0.5 + 0.5 * level)
        return np.where(few, student, ndtri(0.5 + 0.5 * level))

    @property
    def correlation(self) -> Array:
        """Correlation (r, r) of the estimates; nan with those of no or infinite variance."""
        deviation = self.standard_deviation
        known = np.isfinite(deviation) & (deviation > 0)
        scale = np.where(known, deviation, np.nan)
        return np.clip(self.covariance / np.outer(scale, scale), -1.0, 1.0)

    def strongest_correlations(self, count: int = 10) -> list[tuple[str, str, float]]:
        """Pairs of parameters whose estimates are most correlated, the strongest first."""
        correlation = self.correlation
        first, second = np.triu_indices(len(self.names), 1)
        values = correlation[first, second]
        order = np.argsort(-np.abs(np.nan_to_num(values)), kind='stable')
        return [
            (self.names[first[i]], self.names[second[i]], float(values[i]))
            for i in order[:count]
            if np.isfinite(values[i])
        ]

    @property
    def is_physical(self) -> bool:
        """Whether the estimate itself admits physical bodies and friction."""
        return self.consistent.is_physical

    @property
    def standard_parameters(self) -> Array:
        """Physical standard parameters (n_p,), what a controller evaluates."""
        return self.consistent.standard_parameters

    @property
    def controller_parameters(self) -> dict[str, float]:
        """All that a controller evaluates, by name: physical bodies, all friction, drives.

        Constants of forces by position stand among them: `<joint>.rest`,
        `<joint>.ripple_period`.
        """
        found = dict(zip(self.parameter_names, self.standard_parameters.tolist(), strict=True))
        terms = {name: terms_of(given, name) for name, given in self.drive_terms.items()}
        found |= drive_constants(terms)
        if (friction := self.drive_friction) is not None:
            found |= dict(zip(friction.names, friction.values.tolist(), strict=True))
        return found

    @cached_property
    def model(self) -> pkm_dynamics.ClosedChainModel:
        """The mechanism, built from the description that the result names.

        A `ModelFileError` where that is not there or has changed since.
        """
        if self.mechanism is not None:
            return self.mechanism
        try:
            description = pkm_description.load(self.path or self.robot)
        except pkm_description.PkmError as error:
            raise ModelFileError(
                f"{self._where}the description of '{self.robot}' cannot be loaded "
                f'({error}); give the model: load_result(path, model)'
            ) from error
        model = self._extended(pkm_dynamics.mechanism_model(description))
        self.check_robot(model)
        return model

    def with_model(self, model: pkm_dynamics.ClosedChainModel) -> IdentificationResult:
        """Return the result with an existing model for predictions, of the same robot.

        Its `model` has the forces of drives by position that the result has.
        """
        model = self._extended(model)
        self.check_robot(model)
        return replace(self, mechanism=model)

    def _extended(self, model: pkm_dynamics.ClosedChainModel) -> pkm_dynamics.ClosedChainModel:
        """Return a model of the robot with the result's terms of drives and loads of joints."""
        description = model.description
        if description.digest != self.digest:
            return model
        if drive_mapping(description) != self.drive_terms:
            description = with_only_drive_terms(description, self.drive_terms)
        if load_factors(description) != self.load_friction:
            description = with_only_load_friction(description, self.load_friction)
        if description is not model.description:
            model = pkm_dynamics.ClosedChainModel(description)
        if self.load_parameters is None:
            return model
        self._check_names('standard parameters', self.parameter_names, model.parameter_names)
        return model.with_load_parameters(self.load_parameters)

    def as_physical(self) -> IdentificationResult:
        """Return the same result with the values of its physical standard parameters."""
        return replace(self, values=self.matrix @ self.standard_parameters)

    def check_robot(self, model: pkm_dynamics.ClosedChainModel) -> None:
        """Raise `ModelFileError` where the result belongs to another robot than `model`."""
        description = model.description
        if description.digest == self.digest:
            self._check_names('standard parameters', self.parameter_names, model.parameter_names)
            self._check_names('actuated joints', self.joint_names, model.actuated_joints)
            return
        if description.name != self.robot:
            raise ModelFileError(
                f"{self._where}the result belongs to robot '{self.robot}', "
                f"not to '{description.name}'"
            )
        raise ModelFileError(
            f"{self._where}the description of '{self.robot}' has changed since the identification "
            f'(digest {description.digest[:12]}, expected {self.digest[:12]}); identify again'
        )

    def _check_names(self, what: str, own: Sequence[str], expected: Sequence[str]) -> None:
        if list(own) == list(expected):
            return
        missing = [name for name in expected if name not in own]
        unknown = [name for name in own if name not in expected]
        reason = 'their order is another: was the file sorted?'
        if missing or unknown:
            reason = f"'{missing[0]}' is missing" if missing else f"'{unknown[0]}' is unknown"
        raise ModelFileError(f"{self._where}its {what} are not those of '{self.robot}': {reason}")

    @property
    def _where(self) -> str:
        return f"model file '{self.file}': " if self.file else ''

    @overload
    def predict(self, motion: pkm_dynamics.PlatformMotion) -> Array: ...

    @overload
    def predict(
        self,
        motion: pkm_dynamics.PlatformMotion,
        standard_deviation: bool = False,
        bounds: bool = False,
    ) -> Any: ...

    def predict(
        self,
        motion: pkm_dynamics.PlatformMotion,
        standard_deviation: bool = False,
        bounds: bool = False,
    ) -> Any:
        """Predict the actuator forces (N, n_a) [N, N m] of a motion of N samples.

        With `standard_deviation` also the standard deviations (N, n_a) that follow from the
        parameters' covariance: infinite where the motion shows what the data left open. With
        `bounds` also half the range (N, n_a) of the forces that the guaranteed set makes: the
        forces of the robot, without noise, are those of the centre of the set, which are returned
        then, plus or minus that [P eq. 37]; an `EstimationError` where the result has no such set.
        """
        if bounds and self.guaranteed is None:
            raise EstimationError(
                f"the result of '{self.estimator}' has no guaranteed set; identify with "
                "estimator='ellipsoid'"
            )
        forces, gradient, covariance = self._prediction(motion)
        further = []
        if bounds and self.guaranteed is not None:
            forces = gradient @ self.guaranteed.centre
            further = [self.guaranteed.force_half_widths(gradient)]
        if not standard_deviation:
            return (forces, *further) if further else forces
        if self.unidentifiable_directions is not None:
            return (forces, self.unidentifiable_directions.deviation(gradient), *further)
        return (forces, linear_deviation(gradient, covariance), *further)

    def _prediction(self, motion: pkm_dynamics.PlatformMotion) -> tuple[Array, Array, Array]:
        """Forces (N, n_a), their derivatives (N, n_a, k), and the covariance (k, k).

        By base parameters (r) and those of friction laws.
        """
        regressor = self.model.regressor(motion) @ self.columns
        forces = regressor @ self.values
        if self.drive_friction is None:
            return forces, regressor, self.covariance
        friction, cross = self.drive_friction, self.drive_friction.cross_covariance
        velocities = self.model.actuator_states(motion).velocities
        return (
            forces + friction.law.forces(velocities),
            np.concatenate([regressor, friction.law.jacobian(velocities)], axis=-1),
            np.block([[self.covariance, cross], [cross.T, friction.covariance]]),
        )

    def predict_currents(
        self, motion: pkm_dynamics.PlatformMotion, standard_deviation: bool = False
    ) -> Any:
        """Predict the motor currents (N, n_a) [A] of a motion.

        With the estimated force constants where there are some, else those of the
        description, which count as exact: `EstimationError` where a drive has none. Joints
        without a drive have no current. The standard deviations (N, n_a), where they are asked
        for, follow from the covariance of parameters and force constants; they are finite where
        the data leave only a common factor of all forces and force constants open.
        """
        forces, gradient, covariance = self._prediction(motion)
        constants = self.force_constants or given_constants(self.model, len(covariance))
        currents = constants.currents(forces)
        if not standard_deviation:
            return currents
        return currents, constants.current_deviation(
            forces, gradient, covariance, self.unidentifiable_directions
        )

    def save(self, path: Path | str) -> Path:
        """Write the result as YAML; an existing file is not overwritten."""
        return write_model_file(self.to_mapping(), path)

    def to_dict(self) -> dict[str, Any]:
        """Return what the provenance of another result says of this one."""
        return {'estimator': self.estimator, 'robot': self.robot, 'file': self.file}

    def _load_entry(self) -> dict[str, Any]:
        """Standard parameters of the joints' loads by name, where there are some."""
        if self.load_parameters is None:
            return {}
        names = self.parameter_names
        return {'load_parameters': dict(zip(names, self.load_parameters, strict=True))}

    def to_mapping(self) -> dict[str, Any]:
        """Return all entries of the model file."""
        columns = {
            'name': self.names,
            'value': self.values,
            'standard_deviation': self.standard_deviation,
            'relative_standard_deviation': self.relative_standard_deviation,
            'interval': self.confidence_interval(),
            'unit': self.units,
            'expression': self.expressions,
        }
        rows, names = zip(*columns.values(), strict=True), self.parameter_names
        parts = {'force_constants': self.force_constants, 'drive_friction': self.drive_friction}
        content = {
            'format': FORMAT,
            'version': VERSION,
            'robot': self.robot,
            'description_digest': self.digest,
            'description_path': self.path,
            'estimator': self.estimator,
            'is_physical': self.is_physical,
            'violations': list(self.consistent.violations),
            'distance_to_physical': self.consistent.distance,
            'p_value_physical': self.consistent.p_value,
            'actuated_joints': self.joint_names,
            'residual_rms': self.residual_rms,
            **({'drive_terms': self.drive_terms} if self.drive_terms else {}),
            **({'load_friction': self.load_friction} if self.load_friction else {}),
            'parameters': [dict(zip(columns, row, strict=True)) for row in rows],
            'standard_parameters': dict(zip(names, self.standard_parameters, strict=True)),
            **self._load_entry(),
            'residual_analysis': list(self.residual_analysis),
            'strongest_correlations': [
                {'parameters': [first, second], 'correlation': value}
                for first, second, value in self.strongest_correlations()
            ],
            **{key: part.to_mapping() for key, part in parts.items() if part is not None},
            'diagnostics': self.diagnostics,
            'provenance': self.provenance,
            'covariance': self.covariance,
            'base_matrix': [_sparse(row, names) for row in self.matrix],
            'base_columns': [_sparse(column, names) for column in self.columns.T],
        }
        if self.payloads:
            content['payloads'] = [payload.to_mapping() for payload in self.payloads]
        if self.unidentifiable_directions is not None:  # the key of earlier releases
            content['open_directions'] = self.unidentifiable_directions.to_mapping()
        if self.guaranteed is not None:
            content['guaranteed_set'] = self.guaranteed.to_mapping(self.names)
        return content | {'version': version_of(content)}


def _sparse(row: Array, names: list[str]) -> dict[str, float]:
    return {names[i]: float(row[i]) for i in np.flatnonzero(row)}
