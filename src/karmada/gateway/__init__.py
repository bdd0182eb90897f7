"""karmada-gateway: carries HTTP requests to the pods behind MultiClusterIngresses, in whatever clusters they are."""
