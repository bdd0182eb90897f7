"""Speed and memory figures: `make bench` runs every module here and writes bench.json."""
