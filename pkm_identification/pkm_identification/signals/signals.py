"""Motion and forces at the same instants, as an estimator uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import EstimationError
from pkm_identification.signals import fourier
from pkm_identification.signals.bands import Band, FilterBand, HarmonicBand
from pkm_identification.signals.noise import Noise
from pkm_identification.signals.periods import Folded
from pkm_identification.signals.platform_motion import UncertainMotion, uncertain_motion

if TYPE_CHECKING:
    from pkm_dynamics import PlatformMotion

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Signals:
    """Motion of the actuators and forces at the same instants.

    Attributes
    ----------
    time
        Stamps of the forces (n,) [s] on the clock of the dataset; one period where averaged.
    positions, velocities, accelerations
        Actuators (n, n_a), evaluated at `time`.
    forces
        Measured forces or torques (n, n_a) [N, N m], averaged over `averaged` periods or
        filtered: of a motion without a period, nothing outside the band is left in them.
    band
        Turns samples into the rows that an estimator sees.
    averaged
        Number of periods P.
    force_noise, position_noise
        Noise of one sample before averaging; None where the data are one period or none.
    measured_harmonics
        Harmonics (K + 1,) whose motion was measured and carries position noise; in the
        others the motion is below its noise and taken as zero.
    folded_positions, folded_forces
        The measured periods (P, n, n_a) that were averaged; None for filtered data.
    position_covariance, noise_gains
        Of a filtered motion: covariance (n_a, n_a) of the noise of one measured position, and
        that (3, 3) of the value, slope and curvature that white unit noise leaves behind.
    delay
        Time from a position to the force of the same sample [s].
    diagnostics
        What was chosen and why.
    recording
        What the recording says of itself, such as the trajectory that was run.
    """

    time: Array
    positions: Array
    velocities: Array
    accelerations: Array
    forces: Array
    band: Band
    averaged: int = 1
    force_noise: Noise | None = None
    position_noise: Noise | None = None
    measured_harmonics: NDArray[np.bool_] | None = None
    folded_positions: Folded | None = None
    folded_forces: Folded | None = None
    position_covariance: Array | None = None
    noise_gains: Array | None = None
    delay: float = 0.0
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    recording: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.time)

    def motion(self, model: Any, rows: slice = slice(None)) -> PlatformMotion:
        """Return the motion of the mechanism (by its forward kinematics)."""
        return model.motion_from_actuators(
            self.positions[rows], self.velocities[rows], self.accelerations[rows]
        )

    def platform_motion(self, model: Any, rows: slice = slice(None)) -> UncertainMotion:
        """Return the motion of the platform with its covariance.

        The noise of the measured positions, as averaging and refit or the filter leave it,
        is propagated through the forward kinematics, its cross-correlation between the axes
        and between positions and accelerations included.

        Raises
        ------
        EstimationError
            The noise of the positions is not known.
        """
        return uncertain_motion(self, model, rows)

    @property
    def usable(self) -> slice | NDArray[np.bool_]:
        """Samples (n,) of which motion and all forces rest on measurements.

        Not those at the ends of a filtered record, nor those in gaps.
        """
        band = self.band
        if isinstance(band, FilterBand):
            inside = slice(band.trim, len(self) - band.trim)
            if band.holes is None:
                return inside
            flags = np.zeros(len(self), dtype=bool)
            flags[inside] = True
            return flags & ~band.in_hole(np.arange(len(self)))
        if isinstance(band, HarmonicBand) and band.weights is not None:
            return np.asarray((band.weights > 0).all(axis=1))
        return slice(None)

    @property
    def is_long(self) -> bool:
        """Whether the samples are read block by block, as they are too many for memory."""
        return False

    @property
    def row_count(self) -> int:
        """Number of rows that the band makes of the samples."""
        return self.band.row_count(len(self))

    def row_blocks(
        self, function: Callable[[Signals, slice], Array]
    ) -> Iterator[tuple[Array, Array]]:
        """Yield rows of a function of the motion, and of the forces, block by block.

        Parameters
        ----------
        function
            Gives (k, n_a, ...) for some samples of signals, for example a regressor.
        """
        band = self.band
        if not isinstance(band, FilterBand):
            yield (
                band.evaluate(lambda samples: function(self, samples), len(self)),
                band.rows(self.forces),
            )
            return
        for samples, inside in band.stretches(len(self)):
            picked = band.picked(samples, inside)
            rows = band.smooth(function(self, samples))[picked]
            yield rows.copy(), self.forces[samples][picked].copy()

    def with_periods(self, chosen: NDArray[np.bool_]) -> Signals:
        """Return the same signals from some of the periods (P,) only, with the same harmonics.

        Raises
        ------
        EstimationError
            The data are not periods.
        """
        positions, forces = self.folded_positions, self.folded_forces
        if positions is None or forces is None or not isinstance(self.band, HarmonicBand):
            raise EstimationError('the data are not periodic: there are no periods to choose from')
        mean = positions.samples[chosen].mean(axis=0)
        refit = fourier.fit(mean, positions.period, self.band.harmonics)
        if self.measured_harmonics is not None:
            refit.coefficients[~self.measured_harmonics] = 0.0
        q, qd, qdd = (refit.sampled(len(self), self.delay, order) for order in range(3))
        return replace(
            self,
            positions=q,
            velocities=qd,
            accelerations=qdd,
            forces=forces.samples[chosen].mean(axis=0),
            averaged=int(np.count_nonzero(chosen)),
        )
