"""The networking.karmada.io group: services and ingresses that span clusters."""
