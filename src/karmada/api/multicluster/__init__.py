"""The multicluster.x-k8s.io group: the community's API for services across clusters."""
