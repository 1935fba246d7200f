"""Where compiled loops are kept, and that those of other sources are dropped."""

from __future__ import annotations

import os
import subprocess
import sys

from pkm_dynamics.kernels.decorator import drop_stale_caches


def test_kernels_of_other_sources_are_dropped(tmp_path):
    source, cache = tmp_path / 'loop.py', tmp_path / 'cache'
    source.write_text('one')
    assert drop_stale_caches(cache, [source])
    kept = cache / 'loop.nbc'
    kept.write_text('machine code')
    assert not drop_stale_caches(cache, [source])
    assert kept.exists()
    source.write_text('two')
    assert drop_stale_caches(cache, [source])
    assert not kept.exists()


def run_with(script, **environment):
    """Standard output and error of a script in a fresh process."""
    done = subprocess.run(
        [sys.executable, '-c', script],
        env={**os.environ, **environment},
        text=True,
        capture_output=True,
        check=True,
    )
    return done.stdout.strip(), done.stderr


def test_caches_elsewhere_carry_the_stamp_too(tmp_path):
    script = 'from pkm_dynamics.kernels import decorator; print(decorator.cache_folder())'
    folder, _ = run_with(script, NUMBA_CACHE_DIR=str(tmp_path))
    assert folder.startswith(str(tmp_path))
    assert [path.name for path in tmp_path.rglob('*.sha256')] == ['kernels.sha256']


def test_without_a_folder_the_package_still_works():
    """As on a read-only installation for a user without a home."""
    script = (
        'from pkm_dynamics.kinematics.roll_pitch_yaw import rpy_to_rotation\n'
        'print(rpy_to_rotation([0.0, 0.0, 0.0]).trace())\n'
    )
    out, warning = run_with(script, NUMBA_CACHE_LOCATOR_CLASSES='ZipCacheLocator')
    assert out == '3.0'
    assert 'NUMBA_CACHE_DIR' in warning
