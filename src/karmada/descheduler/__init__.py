"""karmada-descheduler: takes replicas back from clusters that cannot run them, so that others get them."""
