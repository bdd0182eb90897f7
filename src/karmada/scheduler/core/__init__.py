"""The pure core: facts in, a decision with its reasons out. No I/O, no clock, no randomness."""
