"""The embedded way: control plane and simulated members in two processes, wired and supervised here."""
