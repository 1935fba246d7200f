"""The page that a dataset carries with it."""

from __future__ import annotations

from pkm_bringup.public_data.dataset_cases import TEST_PERIODS
from pkm_bringup.public_data.dataset_contents import FORCES, MOTION, RECORDING, Decimals
from pkm_bringup.public_data.dataset_manifest import Manifest
from pkm_bringup.public_data.dataset_truth import BODIES, FRICTION

PAGE = """\
# Simulated recordings of parallel robots

To estimate the dynamics of robots from recordings, and to see how good the estimates are. Made by
`pkm dataset make`, seed {seed}; SI units throughout.

- Robots: {robots}. `robots/NAME/` has the URDF, with the constraints that close the loops,
  and a YAML file of what a URDF cannot say. Their masses and friction are those of the design: the
  robot that was recorded differs from them, by up to {bodies:.0%} in its bodies and by up to
  {friction:.0%} in its friction.
- Cases: `NAME_noise<L>_plain` has sensors with L times the noise that the description declares
  ({noise}); in `NAME_noise<L>_effects` the drives have Stribeck friction and cogging
  besides, which no linear model has.
- `recordings/CASE/train`: {periods} periods of an excitation, to estimate from.
  `recordings/CASE/test`: {test_periods} periods of another motion, with measured forces.
  Formats: {formats}; bags hold sensor_msgs/JointState on `joint_states`.
- `motions/NAME.csv`: one period of that other motion without noise: time, positions, velocities and
  accelerations of the drives.
- `truth/`: standard parameters, effects, and forces of that motion without noise
  (`NAME_plain.csv`, `NAME_effects.csv`).
- `manifest.json`: options, versions, cases, periods, SHA-256 of all numbers.

The robots follow their motions exactly. Positions and forces are of the same instants. Decimals of
the numbers: {decimals}.

## The task
Estimate a model of each case from its `train` and the files in `robots/`, and predict the forces
that the drives need for `motions/NAME.csv`. Neither `truth/` nor `test` may be used for that.

Write `CASE.csv` with `time` and a column `<joint>.effort` for each drive, with the stamps of the
motion, into a folder, and let `pkm dataset score DATASET --estimates FOLDER` compare. The folder's
name is that of the estimates.

The score of a case is sum |predicted - true| / sum |true - mean|, over all samples and drives. That
of estimates is the median over the robots, at each level of noise, without and with effects; cases
that are left out are named.
"""


def readme_text(manifest: Manifest) -> str:
    """Return the page of a dataset."""
    options = manifest.options
    told = (('recordings', RECORDING), ('motions', MOTION), ('truth', FORCES))
    return PAGE.format(
        seed=options.seed,
        robots=', '.join(options.robots),
        noise=', '.join(f'{level:g}' for level in options.noise),
        periods=options.periods,
        test_periods=TEST_PERIODS,
        bodies=BODIES,
        friction=FRICTION,
        formats=', '.join(options.formats),
        decimals='; '.join(f'{name}: {_told(decimals)}' for name, decimals in told),
    )


def _told(decimals: Decimals) -> str:
    return ', '.join(f'{kind} {count}' for kind, count in decimals.items())
