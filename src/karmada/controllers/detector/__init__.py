"""The resource detector: finds the policy of every user resource, claims it, and keeps its binding up to date."""
