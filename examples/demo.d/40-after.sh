#!/bin/bash
# Utilisation and memory are back at once, the temperature falls slowly
set -euo pipefail
for _ in 1 2 3 4 5 6; do
  ghostrack run -- nvidia-smi -i 0 --query-gpu=utilization.gpu,memory.used,power.draw,temperature.gpu --format=csv,noheader
  sleep 3
done
