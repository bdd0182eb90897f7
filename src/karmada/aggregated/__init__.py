"""The aggregated API: group cluster.karmada.io, served by its own component or inside the embedded API server."""
