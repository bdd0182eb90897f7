"""Random histories of concurrent clients on a storage with faults, and what they must be like."""
