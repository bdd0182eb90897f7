"""karmada-scheduler: decides where resources go and how many replicas run where."""
