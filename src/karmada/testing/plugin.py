"""The pytest plugin of the distribution: fixtures that give a test a Kubernetes API server in its own process.

Importing this module costs nothing: pytest loads it in every run of every project that has the distribution
installed, so each fixture imports what it needs when it is first used.
"""
