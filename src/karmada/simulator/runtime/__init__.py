"""What reaches into simulated containers: logs, exec, port-forward."""
