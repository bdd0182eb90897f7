"""Why a workload is (not) where it should be.

- `facts`: everything there is to know, read from the control plane and its members
- `chain`: the links from template to members, decided without I/O; the first broken one ends it
- `workload_problems`: what is wrong inside a member
- `links`: what a link is, and the chain as data
- `scheduling` (with `verdicts`, `affinity`, `capacity`), `matching`: the two links that need explaining
"""
