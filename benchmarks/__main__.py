"""Run them all: `python -m benchmarks`."""

from benchmarks.bench import main

main()
