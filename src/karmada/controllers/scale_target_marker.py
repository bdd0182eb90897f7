"""HPA scale target marker: what a propagated HorizontalPodAutoscaler scales is labelled `retain-replicas`.

Off by default. The label keeps the replicas that members' autoscalers chose. It goes when no propagated autoscaler
scales the target any more.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from karmada.api import labels
from karmada.controllers.context import Context
from karmada.controllers.templates import Templates
from karmada.machinery.controller import DONE, Controller, Result
from karmada.machinery.discovery import ApiResource, UnknownKind, split_api_version
from karmada.machinery.errors import NotFound
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.policies.autoscaling.retention import RETAINED

COMPONENT = "hpa-scale-target-marker"
AUTOSCALERS = GroupVersionResource("autoscaling", "v2", "horizontalpodautoscalers")
OF_TARGET = "of-scale-target"


class Target(NamedTuple):
    """What an autoscaler scales."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def identity(self) -> str:
        """The same in every version of its API."""
        return f"{split_api_version(self.api_version)[0]}/{self.kind}/{self.namespace}/{self.name}"


class ScaleTargetMarker:
    """Labels the scale targets of propagated HPAs, so that members keep their replicas."""

    def __init__(self, context: Context, templates: Templates) -> None:
        self._client = context.client
        self._templates = templates
        self._autoscalers: Informer[JSONObject] = context.informers.resource(AUTOSCALERS)
        self._autoscalers.add_index(OF_TARGET, _index)
        self.controller: Controller[Target] = Controller(
            COMPONENT,
            self.reconcile,
            workers=1,
            needs=(self._autoscalers,),
            lane=lambda key: key.namespace,
            retries=context.retries,
            clock=context.clock,
        )
        self.controller.watch(self._autoscalers, _targets)
        templates.add_handler(self._appeared)

    async def reconcile(self, target: Target) -> Result:
        """Label one target, or take the label away."""
        try:
            served = await self._templates.resource(target.api_version, target.kind)
        except UnknownKind:
            return DONE
        if not served.namespaced or "scale" not in served.subresources:
            return DONE  # whoever writes autoscalers shall not label what they may not write otherwise
        item = await self._templates.item(served, Key(target.namespace, target.name))
        if item is None:
            return DONE
        found = (item.value["metadata"].get("labels") or {}).get(labels.RETAIN_REPLICAS)
        wanted = RETAINED if self._autoscalers.indexed(OF_TARGET, target.identity) else None
        if found != wanted:
            patch = {"metadata": {"uid": item.uid, "labels": {labels.RETAIN_REPLICAS: wanted}}}
            try:
                await self._client.resource(served.type).patch(target.name, patch, target.namespace)
            except NotFound:
                return DONE
        return DONE

    def _appeared(self, resource: ApiResource, changes: list[Change[JSONObject]]) -> None:
        """A target that is created after its autoscaler is labelled as well."""
        if not self._autoscalers.has_synced:
            return
        for change in changes:
            if change.old is None and change.new is not None:
                target = Target(resource.api_version, resource.kind, *change.key)
                if self._autoscalers.indexed(OF_TARGET, target.identity):
                    self.controller.enqueue(target)


def _target(autoscaler: dict[str, Any] | None) -> Target | None:
    """What a propagated autoscaler scales; None for one that is not propagated."""
    if autoscaler is None or not any(claim in (autoscaler["metadata"].get("labels") or {}) for claim in labels.CLAIMS):
        return None
    target = (autoscaler.get("spec") or {}).get("scaleTargetRef") or {}
    namespace = autoscaler["metadata"]["namespace"]
    return Target(target.get("apiVersion") or "", target.get("kind") or "", namespace, target.get("name") or "")


def _index(item: Item[JSONObject]) -> Iterable[str]:
    target = _target(item.value)
    return () if target is None else (target.identity,)


def _targets(change: Change[JSONObject]) -> list[Target]:
    """The targets whose label may be wrong now."""
    before, after = (_target(item.value if item else None) for item in (change.old, change.new))
    return [target for target in (before, after) if target is not None] if before != after else []
