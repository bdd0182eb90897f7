"""The data plane of simulated members: pods that answer HTTP, cluster DNS, and routes between members."""
