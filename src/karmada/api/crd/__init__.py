"""CRDs, generated from the types.

Programs take them from `karmada.api.crd.definition`, which makes them in memory. `python -m karmada.api.crd` (`make
crds`) writes them to `manifests/` as YAML, for people and for `kubectl apply`; those files are never edited by hand,
and a test fails when they are stale.
"""
