#!/bin/bash
# Runs the Python suites, one pytest process for each tests/<area>/ with tests in it: suites.sh [AREA...]
# Every suite runs on a rack of its own, started by `ghostrack run`. LONG=1 adds what is marked `long`.
set -uo pipefail
cd "$(dirname "$0")/.."

all=()
GHOSTRACK=${GHOSTRACK_BIN:-target/release}/ghostrack
PYTHON=${PYTHON:-.venv/bin/python}
MINUTES=${SUITE_MINUTES:-30}

areas() {
  local file
  for file in tests/*/test_*.py; do basename "$(dirname "$file")"; done | sort -u
}

[ $# -gt 0 ] || mapfile -t all < <(areas)
failed=()
for area in "$@" "${all[@]}"; do
  printf '== suite %s\n' "$area"
  run_dir=$(mktemp -d "${TMPDIR:-/tmp}/ghostrack-suite.XXXXXX")
  # -k: what ignores SIGTERM is killed a little later, so that a hang ends the suite with its name.
  timeout -k 30 "${MINUTES}m" "$GHOSTRACK" --run-dir "$run_dir/rack" run -- \
    "$PYTHON" -m pytest -p no:cacheprovider ${LONG:+--long} "tests/$area" </dev/null
  code=$?
  rm -rf "$run_dir"
  if [ $code -eq 124 ] || [ $code -eq 137 ]; then echo "suite $area: stopped after $MINUTES minutes"; fi
  [ $code -eq 0 ] || failed+=("$area")
done
if [ "${#failed[@]}" -gt 0 ]; then
  echo "suites failed: ${failed[*]}"
  exit 1
fi
echo "suites passed"
