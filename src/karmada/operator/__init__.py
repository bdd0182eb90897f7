"""karmada-operator: installs the control planes that Karmada objects of a host cluster describe, and keeps them so."""
