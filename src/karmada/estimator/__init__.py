"""karmada-scheduler-estimator: says how much more fits into the member it watches."""
