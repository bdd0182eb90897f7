"""Member clusters without containers: the embedded API server, nodes, and everything a workload needs to come alive.

- `workloads`: controllers, pod scheduler and kubelet stand-in. They know nothing but a `Client`, so they bring any
  API server to life, a stock kube-apiserver included.
- `member`: one simulated cluster; `fleet`: several, as a file describes them.
- `faults`: what can go wrong, on purpose.
"""
