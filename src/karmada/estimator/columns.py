"""Free amounts of thousands of nodes as columns of numbers, and the nodes that claims admit as masks.

Agrees with `Nodes.room`, which is the definition. Rows follow pods as they come and go; masks are made again when a
node itself changes.
"""

from collections import OrderedDict
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from karmada.api.work.v1alpha2 import NodeClaim
from karmada.estimator.nodes import Nodes, claim_key

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]
MASKS = 256
"""How many masks are kept."""


class NodeColumns:
    """Free amounts of nodes as columns of numbers, and the nodes that claims admit as masks."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._version = -1
        self._names: list[str] = []
        self._rows: dict[str, int] = {}
        self._pods: Numbers = np.zeros(0, dtype=np.int64)
        self._free: dict[str, Numbers] = {}
        self._masks: OrderedDict[bytes, Mask] = OrderedDict()

    def room(self, needs: Mapping[str, int], claim: NodeClaim | None) -> int:
        """How many replicas fit on all nodes that take them."""
        self._refresh()
        found = self._pods
        for resource, number in needs.items():
            found = np.minimum(found, self._column(resource) // number)
        return int(np.maximum(found[self._mask(claim)], 0).sum())

    def _refresh(self) -> None:
        nodes = self._nodes
        if self._version != nodes.version:
            self._names = [offer.name for offer in nodes.offers()]
            self._rows = {name: row for row, name in enumerate(self._names)}
            self._pods = np.array([nodes.free_pods(name) for name in self._names], dtype=np.int64)
            self._free.clear()
            self._masks.clear()
            self._version = nodes.version
        else:
            for name in nodes.touched:
                row = self._rows.get(name)
                if row is not None:
                    self._pods[row] = nodes.free_pods(name)
                    for resource, column in self._free.items():
                        column[row] = nodes.free(name, resource)
        nodes.touched.clear()

    def _column(self, resource: str) -> Numbers:
        column = self._free.get(resource)
        if column is None:
            free = [self._nodes.free(name, resource) for name in self._names]
            column = self._free[resource] = np.array(free, dtype=np.int64)
        return column

    def _mask(self, claim: NodeClaim | None) -> Mask:
        key = claim_key(claim)
        mask = self._masks.get(key)
        if mask is None:
            mask = np.zeros(len(self._names), dtype=np.bool_)
            mask[[self._rows[name] for name in self._nodes.admitting(claim)]] = True
            self._masks[key] = mask
            if len(self._masks) > MASKS:
                self._masks.popitem(last=False)
        else:
            self._masks.move_to_end(key)
        return mask
