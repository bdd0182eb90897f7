"""A control plane as in production, on loopback: stock kube-apiserver, kube-controller-manager and etcd.

`servers` starts the stock programs, each with certificates of its own, in a folder; `components` our programs beside
them; `federation` puts both together with members. Nothing outlives its context, and every process dies with its
parent.
"""
