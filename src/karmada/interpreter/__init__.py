"""What Karmada knows about kinds: replicas, parts, dependencies, health, status and retention."""
