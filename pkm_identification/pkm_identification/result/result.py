"""What an identification gives: parameters with uncertainty, residuals, verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import pkm_description
import pkm_dynamics
from pkm_description.errors import EstimationError, ModelFileError
from pkm_identification.covariance.residual_analysis import AxisResiduals
from pkm_identification.covariance.unidentifiable_directions import OpenDirections, linear_deviation
from pkm_identification.force_constants.force_constants import ForceConstants, given_constants
from pkm_identification.force_constants.payload_estimate import PayloadEstimate
from pkm_identification.physical.nearest import Feasible
from pkm_identification.result.guaranteed_set import GuaranteedSet
from pkm_identification.result.identified_friction import IdentifiedFriction

Array = NDArray[np.float64]


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
    feasible
        Nearest physical standard parameters and how far they are.
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
        Plain numbers and texts about data, signals and fit.
    provenance
        Data (with the hashes of their files), options and versions that made it.
    residual_analysis
        Tests of the residuals, one entry a recording and actuator; empty where there is
        none (files of earlier releases).
    drive_friction
        Friction of the drives beyond the base parameters; None where it is linear.
    open_directions
        What the data leave open of base parameters and force constants, and how well they
        determine the rest; None where they determine all, or the estimator does not tell.
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
    feasible: Feasible
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
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    residual_analysis: tuple[AxisResiduals, ...] = ()
    drive_friction: IdentifiedFriction | None = None
    open_directions: OpenDirections | None = None

    def __post_init__(self) -> None:
        """Copy and freeze the arrays."""
        for name in ('values', 'covariance', 'matrix', 'columns', 'residual_rms', 'residuals'):
            value = getattr(self, name)
            if value is not None:
                array = np.array(value, dtype=float)
                array.setflags(write=False)
                object.__setattr__(self, name, array)

    @property
    def standard_deviation(self) -> Array:
        """Standard deviations (r,) of the values."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def relative_standard_deviation(self) -> Array:
        """100 sd / |value| [%] (r,) [M 5.3]; 0 for what is held at an exact value."""
        deviation = self.standard_deviation
        with np.errstate(divide='ignore', invalid='ignore'):
            return np.where(deviation > 0, 100 * deviation / np.abs(self.values), 0.0)

    def confidence_interval(self, level: float = 0.95) -> Array:
        """Return lower and upper ends (r, 2) that hold the true value with this probability.

        Normal quantiles where the noise is known from the spread over periods; Student's t
        with the degrees of freedom of the residuals where it was taken from these. Infinite
        for what the data do not determine. Of a guaranteed set its own intervals, whatever
        the level: nothing is known of probabilities there.

        Raises
        ------
        EstimationError
            The level is not between 0 and 1.
        """
        reach = self.coverage_factor(level) * self.standard_deviation
        if self.guaranteed is not None:
            return self.guaranteed.intervals
        return np.stack([self.values - reach, self.values + reach], axis=1)

    def coverage_factor(self, level: float = 0.95) -> float:
        """Half the width of a confidence interval, in standard deviations."""
        if not isinstance(level, int | float) or not 0.0 < level < 1.0:
            raise EstimationError(f'the level must lie between 0 and 1, got {level!r}')
        freedom = self.diagnostics.get('degrees_of_freedom')
        if freedom and 'residuals' in str(self.diagnostics.get('noise_from', '')):
            return float(stats.t.ppf(0.5 + 0.5 * level, freedom))
        return float(stats.norm.ppf(0.5 + 0.5 * level))

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
        return self.feasible.is_physical

    @property
    def standard_parameters(self) -> Array:
        """Physical standard parameters (n_p,), what a controller evaluates."""
        return self.feasible.standard_parameters

    @property
    def controller_parameters(self) -> dict[str, float]:
        """All that a controller evaluates, by name: physical bodies and all friction."""
        found = dict(zip(self.parameter_names, self.standard_parameters.tolist(), strict=True))
        if self.drive_friction is not None:
            friction = self.drive_friction
            found |= dict(zip(friction.names, friction.values.tolist(), strict=True))
        return found

    @cached_property
    def model(self) -> pkm_dynamics.ClosedChainModel:
        """The mechanism, built from the description that the result names.

        Raises
        ------
        ModelFileError
            The description is not there or has changed since.
        """
        try:
            description = pkm_description.load(self.path or self.robot)
        except pkm_description.PkmError as error:
            raise ModelFileError(
                f"{self._where}the description of '{self.robot}' cannot be loaded "
                f'({error}); give the model: load_result(path, model)'
            ) from error
        model = pkm_dynamics.ClosedChainModel(description)
        self.check_robot(model)
        return model

    def with_model(self, model: pkm_dynamics.ClosedChainModel) -> IdentificationResult:
        """Use an existing model for predictions; it must be of the same robot."""
        self.check_robot(model)
        self.__dict__['model'] = model
        return self

    def as_physical(self) -> IdentificationResult:
        """Return the same result with the values of its physical standard parameters."""
        physical = replace(self, values=self.matrix @ self.standard_parameters)
        if 'model' in self.__dict__:
            physical.__dict__['model'] = self.model
        return physical

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
    def predict(self, motion: Any) -> Array: ...

    @overload
    def predict(
        self, motion: Any, standard_deviation: bool = False, bounds: bool = False
    ) -> Any: ...

    def predict(self, motion: Any, standard_deviation: bool = False, bounds: bool = False) -> Any:
        """Predict the actuator forces (N, n_a) [N, N m] of a motion.

        Parameters
        ----------
        motion
            `PlatformMotion` of N samples.
        standard_deviation
            Also return the standard deviations (N, n_a) that follow from the
            parameters' covariance: infinite where the motion shows what the data left open.
        bounds
            Also return half the range (N, n_a) of the forces that the guaranteed set makes:
            the forces of the robot, without noise, are those of the centre of the set plus
            or minus that [P eq. 37].

        Returns
        -------
        forces, (forces, standard_deviation), (forces, half_ranges) or all three
            With bounds the forces are those of the centre of the set.

        Raises
        ------
        EstimationError
            Bounds are asked for and the result has no guaranteed set.
        """
        if bounds and self.guaranteed is None:
            raise EstimationError(
                f"the result of '{self.estimator}' has no guaranteed set; identify with "
                "estimator='ellipsoid'"
            )
        forces, regressor, covariance = self._prediction(motion)
        further = []
        if bounds and self.guaranteed is not None:
            forces = regressor @ self.guaranteed.centre
            further = [self.guaranteed.force_half_widths(regressor)]
        if not standard_deviation:
            return (forces, *further) if further else forces
        if self.open_directions is not None:
            return (forces, self.open_directions.deviation(regressor), *further)
        return (forces, linear_deviation(regressor, covariance), *further)

    def _prediction(self, motion: Any) -> tuple[Array, Array, Array]:
        """Forces (N, n_a), derivatives (N, n_a, k) by all parameters, their covariance."""
        regressor = self.model.regressor(motion) @ self.columns
        forces = regressor @ self.values
        friction = self.drive_friction
        if friction is None:
            return forces, regressor, self.covariance
        velocities = self.model.actuator_states(motion).velocities
        cross = friction.cross_covariance
        return (
            forces + friction.law.forces(velocities),
            np.concatenate([regressor, friction.law.jacobian(velocities)], axis=-1),
            np.block([[self.covariance, cross], [cross.T, friction.covariance]]),
        )

    @overload
    def predict_currents(self, motion: Any) -> Array: ...

    @overload
    def predict_currents(self, motion: Any, standard_deviation: bool) -> Any: ...

    def predict_currents(self, motion: Any, standard_deviation: bool = False) -> Any:
        """Predict the motor currents (N, n_a) [A] of a motion.

        With the estimated force constants where there are some, else those of the
        description, which count as exact. Joints without a drive have no current.

        Parameters
        ----------
        motion
            `PlatformMotion` of N samples.
        standard_deviation
            Also return the standard deviations (N, n_a) that follow from the covariance of
            parameters and force constants. They are finite where the data leave only a
            common factor of all forces and force constants open.

        Returns
        -------
        currents or (currents, standard_deviation)

        Raises
        ------
        EstimationError
            A drive has no force constant.
        """
        forces, regressor, covariance = self._prediction(motion)
        constants = self.force_constants or given_constants(self.model, len(covariance))
        currents = constants.currents(forces)
        if not standard_deviation:
            return currents
        return currents, constants.current_deviation(
            forces, regressor, covariance, self.open_directions
        )

    def save(self, path: Path | str) -> Path:
        """Write the result as YAML; an existing file is not overwritten."""
        from pkm_identification.result.file import save_result

        return save_result(self, path)
