"""The work.karmada.io group: what is scheduled where, and what is delivered to each cluster."""
