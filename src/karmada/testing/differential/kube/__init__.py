"""Random requests go to a stock kube-apiserver and to ours; answers are compared and differences made short."""
