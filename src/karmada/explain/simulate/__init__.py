"""What would be placed where: the scheduler's own core on a world that was thought up, nothing written.

- `world`: clusters as they would be
- `terms`: the feature gates and flags of the running control plane
- `gathering`, `subjects`: what is to be placed, from files and from the control plane
- `outcome`: before and after
"""
