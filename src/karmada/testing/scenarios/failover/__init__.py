"""Failover with all that goes wrong: clusters die, flap, lose answers, come back with old state, half of them at once.

- *Members* run what they are given: each has a kubelet that brings Deployments up, or reports them sick.
- The *user* scales templates, edits a placement and taints clusters for maintenance. Applications fail over in several
  ways: `web` is divided, evicted at once and has a disruption budget, `shop` runs in one cluster, tolerates taints for
  a while and is also moved when it is sick, `blunt` is purged directly, `ledger` is fenced, `home` goes back to its
  first affinity term.
- The gates KeepLastCopy and AvoidEvictionLoops are on; in even seeds evictions stop while most clusters are not ready.

Rules, after every committed change: a copy goes only while another is healthy, or when someone asked for the purge; a
binding leaves a cluster only for a cause that is written down, and not while evictions have to stop; it does not come
to a cluster whose taint evicts it. Moves take no more ready replicas of `web` away than its budget allows, and `ledger`
is never in two clusters. In the end every application has its replicas, all of them run where they should, nothing is
left over or waits, and no reconcile function failed.
"""
