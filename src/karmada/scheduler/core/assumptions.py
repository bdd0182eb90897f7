"""What decisions count beside what clusters report."""

from typing import NamedTuple

from karmada.api.work.v1alpha2 import Component


class AssumedWorkload(NamedTuple):
    """Something placed recently that the cluster's own figures may not show yet."""

    namespace: str
    components: tuple[Component, ...]
