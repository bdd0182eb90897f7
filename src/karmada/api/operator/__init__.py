"""The operator.karmada.io group: control planes as objects of a host cluster."""
