#!/bin/bash
# PyTorch from PyPI trains a transformer; nvidia-smi watches
set -euo pipefail
FIELDS=utilization.gpu,power.draw,temperature.gpu,memory.used,clocks.sm,pstate
watch_line() { ghostrack run -- nvidia-smi -i 0 --query-gpu=$FIELDS --format=csv,noheader | sed 's/^/    nvidia-smi: /'; }

ghostrack run -- "$PYTHON" examples/train_single.py --seconds "$SECONDS_OF_TRAINING" &
training=$!
echo $training >"$SCRATCH/train.pid"
echo "(the loss will read 0: large tensors take their time and are not computed, see docs/limits.md)"
shown=no
while kill -0 $training 2>/dev/null; do
  sleep 2
  line=$(watch_line)
  echo "$line"
  # The whole table once, when the load is there.
  if [ $shown = no ] && grep -q '\b[6-9][0-9] %\|100 %' <<<"$line"; then
    ghostrack run -- nvidia-smi
    shown=yes
  fi
done
wait $training
rm "$SCRATCH/train.pid"
if [ $shown = no ]; then echo "nvidia-smi never saw the GPU above 60 %" >&2; exit 1; fi
