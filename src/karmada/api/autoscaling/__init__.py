"""The autoscaling.karmada.io group: replicas across clusters that follow load or the clock."""
