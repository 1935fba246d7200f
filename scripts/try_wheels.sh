#!/usr/bin/env bash
# The wheels of this checkout in empty environments, in a folder that is no checkout.
#
# scripts/try_wheels.sh
#
# Builds them, installs `pkm_bringup` without ROS 2 and with it (`[ros]`), and runs `pkm demo --quick`
# and `pkm demo`; prints a line for each with the processor time of the demo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

WHEELS="$PWD/.build/dist"
FOLDER="$PWD/.build/wheels"
TIMEFORMAT='%U %S'

# try_one NAME PACKAGE DEMO...
try_one() {
  local name=$1 package=$2 python
  shift 2
  rm -rf "${FOLDER:?}/$name"
  mkdir -p "$FOLDER/$name/empty"
  python="$(.venv/bin/python -c 'import sys; print(sys._base_executable)')"
  # each by itself: `set -e` does not count where a caller looks at the status
  "$python" -m venv "$FOLDER/$name/venv" || return
  "$FOLDER/$name/venv/bin/python" -m pip install -q --find-links "$WHEELS" "$package" || return
  cd "$FOLDER/$name/empty"
  # nothing of the checkout, of its environment or of a ROS 2 that was sourced
  time env -i HOME="$FOLDER/$name" PATH=/usr/bin:/bin MPLBACKEND=Agg \
    ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST ROS_DOMAIN_ID=$((RANDOM % 100 + 1)) \
    "$FOLDER/$name/venv/bin/pkm" "$@"
}

report() {
  local name=$1 status=passed
  (try_one "$@") >"$FOLDER/$name.log" 2>&1 || status=FAILED
  printf '%s\t%s\t%s s of processor time\n' "$name" "$status" \
    "$(awk 'END { print int($1 + $2 + 0.5) }' "$FOLDER/$name.log")"
  [ "$status" = passed ]
}

main() {
  local failures=0
  make dist
  mkdir -p "$FOLDER"
  report plain pkm_bringup demo --quick || failures=1
  report ros 'pkm_bringup[ros]' demo || failures=1
  echo "logs: $FOLDER"
  return "$failures"
}

main "$@"
