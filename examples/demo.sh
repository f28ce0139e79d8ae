#!/bin/bash
# Runs examples/demo.d/ in order on a rack of its own; `make demo` builds what it needs first.
# Each step is a program: its first comment is its title, RUN_DIR the rack, SCRATCH its notes.
set -euo pipefail
cd "$(dirname "$0")/.."

BIN=$(realpath "${GHOSTRACK_BIN:-target/release}")
export PATH="$BIN:$PATH"
export PYTHON=${PYTHON:-$PWD/.venv/bin/python}
export SECONDS_OF_TRAINING=${SECONDS_OF_TRAINING:-20}
SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/ghostrack-demo.XXXXXX")
export SCRATCH GHOSTRACK_RUN_DIR=$SCRATCH/rack

cleanup() {
  local code=$?
  trap - EXIT
  if [ -f "$SCRATCH/train.pid" ]; then kill "$(cat "$SCRATCH/train.pid")" 2>/dev/null || true; fi
  if [ -d "$GHOSTRACK_RUN_DIR" ]; then ghostrack down >/dev/null 2>&1 || true; fi
  rm -rf "$SCRATCH"
  [ $code -eq 0 ] || echo "demo: step failed: ${step:-none} (exit code $code)" >&2
  exit $code
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

steps=(examples/demo.d/[0-9]*.sh)
number=0
for step in "${steps[@]}"; do
  number=$((number + 1))
  printf '\n\033[1m[%d/%d] %s\033[0m\n' "$number" "${#steps[@]}" "$(sed -n '2s/^# //p' "$step")"
  bash "$step"
done
printf '\nThat was the demo. `%s run -- CMD` runs your own program.\n' "${BIN#"$PWD"/}/ghostrack"
