"""Policy knowledge as pure functions: which policy a resource belongs to, which clusters an affinity means."""
