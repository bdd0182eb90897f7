"""What a new table of routes means: which Services and Secrets it needs, and which of them it did not before. Pure.

One ingress may name ten thousand hosts, Services or Secrets, and each of its edits makes the table anew.
"""

from collections.abc import Sequence
from typing import NamedTuple

from karmada.api.networking.v1alpha1 import MultiClusterIngress
from karmada.gateway.httproutes import KIND, HttpRoute
from karmada.gateway.members import ServiceKey
from karmada.gateway.routes import IngressKey, Table, build
from karmada.gateway.rules import Backend


class Made(NamedTuple):
    """A table, and what follows from it."""

    table: Table
    users: dict[Backend, list[IngressKey]]
    """The ingresses that lead to each backend."""
    wanted: dict[ServiceKey, list[Backend]]
    """The backends of each Service."""
    certified: dict[ServiceKey, dict[IngressKey, None]]
    """The ingresses that use the certificate in each Secret."""
    generations: dict[IngressKey, int]
    stale: list[ServiceKey]
    """Services whose endpoints are to be found: they have other backends than before, or none."""
    touched: list[IngressKey]
    """Those whose status may be another one than before."""


NOTHING = Made(Table(), {}, {}, {}, {}, [], [])


def made(ingresses: Sequence[MultiClusterIngress], class_name: str, routes: Sequence[HttpRoute], before: Made) -> Made:
    """The table of these ingresses and routes, compared with the one before."""
    table = build(ingresses, class_name, routes)
    users = table.backends()
    wanted: dict[ServiceKey, list[Backend]] = {}
    for backend in users:
        wanted.setdefault((backend.namespace, backend.service), []).append(backend)
    certified: dict[ServiceKey, dict[IngressKey, None]] = {}
    for found in table.certificates.values():
        certified.setdefault((found.ingress.namespace, found.secret), {})[found.ingress] = None
    generations = {IngressKey(one.metadata.namespace, one.metadata.name): one.metadata.generation for one in ingresses}
    stale = [key for key in {**wanted, **before.wanted} if before.wanted.get(key) != wanted.get(key)]
    old = before.table

    def differs(key: IngressKey) -> bool:
        return (
            key.kind == KIND
            or before.generations.get(key) != generations.get(key)
            or old.problems.get(key) != table.problems.get(key)
            or old.services.get(key) != table.services.get(key)
        )

    touched = [key for key in {**old.problems, **table.problems} if differs(key)]
    return Made(table, users, wanted, certified, generations, stale, touched)
