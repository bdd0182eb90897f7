"""Aggregated cluster roles: their rules are those of the roles their selectors match."""

import orjson

from karmada.api import label_selector
from karmada.apiserver.auth.aggregation import aggregated_rules, is_aggregated
from karmada.apiserver.controllers.worker import Worker
from karmada.apiserver.controllers.writing import Writer
from karmada.apiserver.requests.model import Context
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import Kind, StoreEvent

_KIND: Kind = ("rbac.authorization.k8s.io", "clusterroles")
_MARK = b'"aggregationRule":'


class ClusterRoleAggregation:
    """Keeps aggregated roles in step with their parts."""

    def __init__(self, context: Context) -> None:
        self._store = context.store
        self._writer = Writer(context, "clusterrole-aggregation-controller")
        self._worker: Worker[str] = Worker("cluster-roles", self._process)

    def start(self) -> None:
        """Look at everything once, then follow events."""
        self._store.subscribe(self._changed, _KIND)
        self._add_all()
        self._worker.start()

    async def stop(self) -> None:
        """Stop working."""
        await self._worker.stop()

    def _changed(self, kind: Kind, event: StoreEvent) -> None:
        if kind == _KIND:
            self._add_all()

    def _add_all(self) -> None:
        for item in self._store.list(_KIND).items:
            if _MARK in item.body:
                self._worker.add(item.name)

    async def _process(self, name: str) -> None:
        item = self._store.get(_KIND, "", name)
        if item is None:
            return
        role: JSONObject = orjson.loads(item.body)
        if not is_aggregated(role):
            return
        # Most roles are part of nothing: their labels say so without reading them.
        selectors = [label_selector.from_json(part) for part in role["aggregationRule"]["clusterRoleSelectors"]]
        others = [
            orjson.loads(other.body)
            for other in self._store.list(_KIND).items
            if other.name != name and any(selector.matches(other.index.labels) for selector in selectors)
        ]
        rules = aggregated_rules(role, others)
        if rules != (role.get("rules") or []):

            def edit(obj: JSONObject) -> None:
                obj["rules"] = rules

            await self._writer.change(_KIND, "", name, edit)
