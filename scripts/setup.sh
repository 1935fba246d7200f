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
SHARED=(launch config policies rviz foxglove) # folders of packages that go to their share

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

# beside STEP: starts a function, with a log of its own. It gets a process group of its own, so
# that all it started can be ended with it.
beside() {
  set -m
  (LOG="$PKM_ROOT/.build/setup-$1.log" && "$1") </dev/null &
  set +m
  RUNNING+=("$!")
}
RUNNING=()

# Waits for all that runs beside; ends the set-up where one of them failed, which then said so.
wait_for_all() {
  local group
  for group in "${RUNNING[@]}"; do
    wait "$group" || exit 1
  done
  RUNNING=()
}

end_all() {
  local group
  for group in "${RUNNING[@]}"; do
    kill -- "-$group" 2>/dev/null || true
  done
}

# Processors that this process may use; OpenMP's variables would change what nproc says.
processors() { env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc; }

# digest PATH...: one hash over names and contents of files and folders, in Git or not
digest() {
  find "$@" -type f -not -path '*/__pycache__/*' -not -path '*.egg-info/*' -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1
}

is_current() { [ -f "$VENV/.stamp-$1" ] && [ "$(cat "$VENV/.stamp-$1")" = "$2" ]; }

stamp() { echo "$2" >"$VENV/.stamp-$1"; }

# The interpreter to set up with: that of PYTHON; without it, the one that the environment was made
# with; else the first that is new enough. Not one inside the environment, which may be removed.
find_python() {
  local candidate
  local candidates=(python3 python3.12 python3.11 python3.10 python3.13)
  if [ -n "${PYTHON:-}" ]; then
    candidates=("$PYTHON")
  elif [ -f "$VENV/.python" ]; then
    candidates=("$(cat "$VENV/.python")" "${candidates[@]}")
  fi
  for candidate in "${candidates[@]}"; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
      "$candidate" -c 'import sys; print(sys._base_executable)'
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

# make_environment PYTHON: an empty environment that remembers its interpreter
make_environment() {
  rm -rf "$VENV"
  if [ "$PKM_ROS" = sourced ]; then
    quietly "$1" -m venv --system-site-packages "$VENV"
  else
    quietly "$1" -m venv "$VENV"
  fi
  echo "$1" >"$VENV/.python"
  touch "$VENV/COLCON_IGNORE"
  # An old pip searches for minutes among versions that a recent one finds at once.
  install "pip>=26.1"
}

# install ARGUMENT...: of `pip install`; PYTHONPATH names ROS packages: pip shall not count them
# among its own
install() {
  quietly env -u PYTHONPATH "$VENV/bin/python" -m pip install --disable-pip-version-check \
    --no-compile -c requirements/constraints.txt "$@"
}

# What pkm_msgs is built with and the kernels are compiled with; the rest comes beside those two.
install_first_requirements() {
  say "Python environment with ROS 2 Jazzy from wheels ($("$1" -V))"
  make_environment "$1"
  install -r requirements/ros.txt -c requirements/runtime.txt -c requirements/dev.txt \
    numpy scipy numba llvmlite transforms3d lxml xacro PyYAML setuptools
  mend_wheels
}

install_rest() {
  local started=$SECONDS
  install -r requirements/runtime.txt -r requirements/oracles.txt -r requirements/dev.txt
  say "other requirements installed in $((SECONDS - started)) s"
  install_packages
}

install_requirements_beside_ros() {
  local requirements=(-r requirements/dev.txt)
  say "Python environment on top of ROS 2 ${ROS_DISTRO:-(distribution unknown)}"
  make_environment "$1"
  if "$1" -c 'import numpy, sys; sys.exit(numpy.__version__[:2] != "1.")' 2>/dev/null; then
    requirements+=(-r requirements/runtime-numpy1.txt)
  else
    requirements+=(-r requirements/runtime.txt -r requirements/oracles.txt)
  fi
  if ! "$1" -c 'import colcon_core, colcon_ros' 2>/dev/null; then
    requirements+=(colcon-common-extensions)
  fi
  install "${requirements[@]}"
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
  key="$(digest pkm_msgs/{msg,srv,action,CMakeLists.txt,package.xml})"
  if is_current messages "$key"; then return; fi
  say "building pkm_msgs"
  export AMENT_PREFIX_PATH="$VENV" PATH="$VENV/bin:$PATH"
  rm -rf .build/pkm_msgs
  # -O1: messages are small, and -O3 takes half as long again to compile
  quietly cmake -S pkm_msgs -B .build/pkm_msgs -DPKM_MSGS_PYTHON_ONLY=ON \
    -DCMAKE_INSTALL_PREFIX="$VENV" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF \
    -DCMAKE_C_FLAGS_RELEASE="-O1 -DNDEBUG" -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" \
    -DPython3_EXECUTABLE="$VENV/bin/python"
  quietly cmake --build .build/pkm_msgs --parallel "$(processors)"
  quietly cmake --install .build/pkm_msgs
  quietly "$VENV/bin/python" -c 'import pkm_msgs.action, pkm_msgs.msg, pkm_msgs.srv'
  stamp messages "$key"
  say "pkm_msgs built in $((SECONDS - started)) s"
}

# Files of the shared folders, without what Python compiled.
shared_files() {
  find "${PACKAGES[@]}" -mindepth 2 -type f -not -path '*/__pycache__/*' |
    grep -E "^[a-z_]+/($(IFS='|' && echo "${SHARED[*]}"))/" | LC_ALL=C sort
}

# In place, as colcon's --symlink-install does it: sources, launch files and parameters are used
# where they lie; the resource index of .venv knows the packages. Links lead to files alone:
# `ros2 launch` does not follow those to folders.
install_packages() {
  local key package file script
  local arguments=() files=()
  for package in "${PACKAGES[@]}"; do
    files+=("$package/setup.py" "$package/setup.cfg" "$package/package.xml")
    arguments+=(-e "./$package")
  done
  # files of the share that appear later are linked then
  key="$(digest "${files[@]}") $(shared_files | xargs)"
  if is_current packages "$key"; then return; fi
  say "installing ${PACKAGES[*]}"
  quietly "$VENV/bin/python" -m pip install --disable-pip-version-check --no-deps \
    --no-build-isolation --use-pep517 --config-settings editable_mode=compat "${arguments[@]}"
  for package in "${PACKAGES[@]}"; do
    rm -rf "${VENV:?}/share/$package"
    mkdir -p "$VENV/share/$package" "$VENV/lib/$package"
    touch "$VENV/share/ament_index/resource_index/packages/$package"
    ln -sfn "$PKM_ROOT/$package/package.xml" "$VENV/share/$package/package.xml"
    for script in $(grep -oE "[a-z_]+ = $package\.[a-z_.]+:main" "$package/setup.py" | cut -d' ' -f1); do
      ln -sfn "$VENV/bin/$script" "$VENV/lib/$package/$script"
    done
  done
  shared_files | while read -r file; do
    mkdir -p "$VENV/share/$(dirname "$file")"
    ln -sfn "$PKM_ROOT/$file" "$VENV/share/$file"
  done
  # pip was told not to compile: byte code of what these packages import is made by importing it.
  # Without it, where PYTHONDONTWRITEBYTECODE is set, every command compiles SciPy anew.
  quietly env -u PYTHONDONTWRITEBYTECODE AMENT_PREFIX_PATH="$VENV" MPLBACKEND=Agg \
    "$VENV/bin/python" scripts/import_all.py "${PACKAGES[@]}"
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
  key="$(digest pkm_description/pkm_description pkm_dynamics/pkm_dynamics)"
  if is_current kernels "$key"; then return; fi
  say "compiling the numerical kernels"
  (
    pkm_runtime_environment
    if [ "$PKM_ROS" = wheels ]; then
      # the packages may not be installed yet
      export PYTHONPATH="$PKM_ROOT/pkm_description:$PKM_ROOT/pkm_dynamics"
    fi
    unset PYTHONDONTWRITEBYTECODE
    quietly "$VENV/bin/python" -m pkm_dynamics.warm_up
  )
  stamp kernels "$key"
  say "kernels compiled in $((SECONDS - started)) s"
}

set_up_from_wheels() {
  local python=$1 key=$2
  if is_current environment "$key"; then
    beside install_packages
  else
    check_tools
    install_first_requirements "$python"
    say "first requirements installed in $SECONDS s"
    beside install_rest
  fi
  beside build_messages
  beside warm_up
  wait_for_all
  stamp environment "$key"
}

set_up_beside_ros() {
  local python=$1 key=$2
  if ! is_current environment "$key"; then
    check_tools
    install_requirements_beside_ros "$python"
    stamp environment "$key"
    say "requirements installed in $SECONDS s"
  fi
  build_workspace
  warm_up
}

main() {
  local python key
  mkdir -p .build
  if command -v flock >/dev/null; then
    exec 9>.build/lock
    flock 9
  fi
  trap end_all EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  python="$(find_python)"
  key="$(digest requirements scripts/setup.sh) $PKM_ROOT $PKM_ROS $("$python" -VV)"
  if [ "$PKM_ROS" = sourced ]; then
    set_up_beside_ros "$python" "$key"
  else
    set_up_from_wheels "$python" "$key"
  fi
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  main
fi
