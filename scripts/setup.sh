#!/usr/bin/env bash
# Makes the environment of the make targets; does nothing where it is already up to date.
#
# Where no ROS 2 is sourced: `.venv` with ROS 2 Jazzy from wheels, `pkm_msgs` built into it, the
# Python packages installed in place. Where one is: `.venv` on top of it with the other
# requirements, then `colcon build`. Everything stays inside the checkout.
set -euo pipefail

# shellcheck source=scripts/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
cd "$PKM_ROOT"

VENV="$PKM_ROOT/.venv"
LOG="$PKM_ROOT/.build/setup.log"
PACKAGES=(pkm_description pkm_dynamics pkm_identification pkm_control pkm_bringup)

say() { echo "[setup] $*"; }

fail() {
  echo "[setup] error: $*" >&2
  exit 1
}

# quietly COMMAND...: output goes to the log; its end is shown where the command fails
quietly() {
  if ! "$@" >"$LOG" 2>&1; then
    tail -n 40 "$LOG" >&2
    fail "this command failed: $* (whole output: $LOG)"
  fi
}

# digest PATH...: one hash over names and contents of files and folders, in Git or not
digest() {
  find "$@" -type f -not -path '*/__pycache__/*' -not -path '*.egg-info/*' -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1
}

is_current() { [ -f "$VENV/.stamp-$1" ] && [ "$(cat "$VENV/.stamp-$1")" = "$2" ]; }

stamp() { echo "$2" >"$VENV/.stamp-$1"; }

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.12 python3.11 python3.10 python3.13}; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  fail "needs Python 3.10 or newer (choose one with PYTHON=/path/to/python make setup)"
}

check_tools() {
  local tool
  for tool in cmake make c++; do
    command -v "$tool" >/dev/null || fail "needs $tool (a C++ compiler, CMake and make)"
  done
}

install_requirements() {
  local python key started=$SECONDS
  local requirements=(-r requirements/dev.txt)
  python="$(find_python)"
  key="$(digest requirements scripts/setup.sh) $PKM_ROOT $PKM_ROS $("$python" -VV)"
  if is_current environment "$key"; then return; fi
  check_tools
  rm -rf "$VENV"
  if [ "$PKM_ROS" = sourced ]; then
    say "Python environment on top of ROS 2 ${ROS_DISTRO:-(distribution unknown)}"
    quietly "$python" -m venv --system-site-packages "$VENV"
    update_pip
    if "$python" -c 'import numpy, sys; sys.exit(numpy.__version__[:2] != "1.")' 2>/dev/null; then
      requirements+=(-r requirements/runtime-numpy1.txt)
    else
      requirements+=(-r requirements/runtime.txt -r requirements/oracles.txt)
    fi
    if ! "$python" -c 'import colcon_core, colcon_ros' 2>/dev/null; then
      requirements+=(colcon-common-extensions)
    fi
    # PYTHONPATH names the ROS packages: pip shall not count them among its own
    quietly env -u PYTHONPATH "$VENV/bin/python" -m pip install \
      --disable-pip-version-check --no-compile -c requirements/constraints.txt "${requirements[@]}"
  else
    say "Python environment with ROS 2 Jazzy from wheels ($("$python" -V))"
    quietly "$python" -m venv "$VENV"
    update_pip
    quietly "$VENV/bin/python" -m pip install --disable-pip-version-check --no-compile \
      -c requirements/constraints.txt -r requirements/ros.txt -r requirements/runtime.txt \
      -r requirements/oracles.txt "${requirements[@]}"
    mend_wheels
  fi
  touch "$VENV/COLCON_IGNORE"
  stamp environment "$key"
  say "requirements installed in $((SECONDS - started)) s"
}

# An old pip searches for minutes among versions that a recent one finds at once.
update_pip() {
  quietly env -u PYTHONPATH "$VENV/bin/python" -m pip install --disable-pip-version-check \
    "pip>=26.1"
}

# The CMake files of the message wheels name the interpreter of the machine that built them.
mend_wheels() {
  local include packages
  include="$("$VENV/bin/python" -c 'import sysconfig; print(sysconfig.get_path("include"))')"
  packages="$("$VENV/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
  find "$VENV/share" -name '*.cmake' -exec grep -lZ /opt/python {} + |
    xargs -0 -r sed -E -i \
      -e "s#/opt/python/[^/;\"]+/include/python[0-9.]+#$include#g" \
      -e "s#/opt/python/[^/;\"]+/lib/python[0-9.]+/site-packages#$packages#g"
}

build_messages() {
  local key started=$SECONDS
  key="$(digest pkm_msgs)"
  if is_current messages "$key"; then return; fi
  say "building pkm_msgs"
  export AMENT_PREFIX_PATH="$VENV"
  rm -rf .build/pkm_msgs
  PATH="$VENV/bin:$PATH" quietly cmake -S pkm_msgs -B .build/pkm_msgs \
    -DCMAKE_INSTALL_PREFIX="$VENV" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF \
    -DPython3_EXECUTABLE="$VENV/bin/python"
  PATH="$VENV/bin:$PATH" quietly cmake --build .build/pkm_msgs --parallel "$(nproc)"
  PATH="$VENV/bin:$PATH" quietly cmake --install .build/pkm_msgs
  quietly "$VENV/bin/python" -c 'import pkm_msgs.action, pkm_msgs.msg, pkm_msgs.srv'
  stamp messages "$key"
  say "pkm_msgs built in $((SECONDS - started)) s"
}

# In place, as colcon's --symlink-install does it: sources, launch files and parameters are used
# where they lie; the resource index of .venv knows the packages.
install_packages() {
  local key package folder script
  local arguments=() files=()
  for package in "${PACKAGES[@]}"; do
    files+=("$package/setup.py" "$package/setup.cfg" "$package/package.xml")
    arguments+=(-e "./$package")
  done
  # folders of the share that appear later are linked then
  key="$(digest "${files[@]}") $(find pkm_* -maxdepth 1 -type d | LC_ALL=C sort | xargs)"
  if is_current packages "$key"; then return; fi
  say "installing ${PACKAGES[*]}"
  quietly "$VENV/bin/python" -m pip install --disable-pip-version-check --no-deps \
    --no-build-isolation --use-pep517 --config-settings editable_mode=compat "${arguments[@]}"
  for package in "${PACKAGES[@]}"; do
    mkdir -p "$VENV/share/$package" "$VENV/lib/$package"
    touch "$VENV/share/ament_index/resource_index/packages/$package"
    for folder in package.xml launch config rviz foxglove; do
      if [ -e "$package/$folder" ]; then
        ln -sfn "$PKM_ROOT/$package/$folder" "$VENV/share/$package/$folder"
      fi
    done
    for script in $(sed -nE "s/^ *\"([a-z_]+) = $package\..*:main\",?$/\1/p" "$package/setup.py"); do
      ln -sfn "$VENV/bin/$script" "$VENV/lib/$package/$script"
    done
  done
  stamp packages "$key"
}

build_workspace() {
  local key started=$SECONDS
  key="$(digest pkm_msgs "${PACKAGES[@]}") $AMENT_PREFIX_PATH"
  if is_current workspace "$key"; then return; fi
  say "colcon build"
  # by the environment's Python, so that the executables start with it
  PATH="$VENV/bin:$PATH" quietly "$VENV/bin/python" -m colcon build \
    --base-paths pkm_msgs "${PACKAGES[@]}" --cmake-args -DBUILD_TESTING=OFF \
    -DPython3_EXECUTABLE="$VENV/bin/python"
  stamp workspace "$key"
  say "workspace built in $((SECONDS - started)) s"
}

# Compiles the numerical kernels into Numba's cache.
warm_up() {
  local key started=$SECONDS
  if [ ! -f pkm_dynamics/pkm_dynamics/warm_up.py ]; then return; fi
  key="$(digest pkm_description/pkm_description pkm_dynamics/pkm_dynamics)"
  if is_current kernels "$key"; then return; fi
  say "compiling the numerical kernels"
  (
    pkm_runtime_environment
    # Byte code of what is imported is kept too: pip was told not to compile all of it.
    unset PYTHONDONTWRITEBYTECODE
    quietly "$VENV/bin/python" -m pkm_dynamics.warm_up
    quietly "$VENV/bin/python" -c 'import pkm_bringup.cli, pkm_control, pkm_identification'
  )
  stamp kernels "$key"
  say "kernels compiled in $((SECONDS - started)) s"
}

main() {
  mkdir -p .build
  if command -v flock >/dev/null; then
    exec 9>.build/lock
    flock 9
  fi
  install_requirements
  if [ "$PKM_ROS" = sourced ]; then
    build_workspace
  else
    build_messages
    install_packages
  fi
  warm_up
}

main
