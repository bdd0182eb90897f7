"""ControllerRevisions: the pod templates a StatefulSet or DaemonSet has had, so that it can go back to one."""

import orjson

from karmada.machinery.committer import Committer
from karmada.machinery.errors import AlreadyExists
from karmada.machinery.informers.cache import Item
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.kinds import CONTROLLER_REVISIONS
from karmada.simulator.workloads.pod_making import owner_reference
from karmada.simulator.workloads.rollout import template_hash
from karmada.simulator.workloads.views import meta_of

LABEL = "controller-revision-hash"


class Revisions:
    """The revisions of the workloads of one controller."""

    def __init__(self, context: Workloads) -> None:
        self.informer = context.trees(CONTROLLER_REVISIONS)
        self.informer.add_index("owner", owners)
        self._resource = context.client.resource(CONTROLLER_REVISIONS)
        self._commit = Committer(self._resource, status_subresource=False)

    async def current(self, owner: JSONObject) -> str:
        """The hash of the present template, noted as the latest revision."""
        template = owner["spec"]["template"]
        mark = template_hash(template)
        name = f"{owner['metadata']['name']}-{mark}"
        known = self.informer.indexed("owner", owner["metadata"]["uid"])
        latest = max((one["revision"] for one in known), default=0)
        present = next((one for one in known if one["metadata"]["name"] == name), None)
        if present is not None:
            if present["revision"] < latest:
                await self._commit.commit(present, lambda seen: seen | {"revision": latest + 1})
            return mark
        revision = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": name,
                "namespace": owner["metadata"]["namespace"],
                "labels": {**((template.get("metadata") or {}).get("labels") or {}), LABEL: mark},
                "ownerReferences": [owner_reference(owner)],
            },
            "data": _in_order({"spec": {"template": template | {"$patch": "replace"}}}),
            "revision": latest + 1,
        }
        try:
            await self._resource.create(revision)
        except AlreadyExists:
            return mark
        limit = owner["spec"].get("revisionHistoryLimit")
        for old in sorted(known, key=lambda one: one["revision"])[
            : max(0, len(known) - (10 if limit is None else limit))
        ]:
            if old["metadata"]["name"] != (owner.get("status") or {}).get("currentRevision"):
                await self._commit.remove(old, lambda seen: True)
        return mark

    def template(self, owner: JSONObject, mark: str) -> JSONObject:
        """The template of a hash; the present one when it is forgotten."""
        for one in self.informer.indexed("owner", owner["metadata"]["uid"]):
            if (one["metadata"].get("labels") or {}).get(LABEL) == mark:
                template = dict(one["data"]["spec"]["template"])
                template.pop("$patch", None)
                return template
        present: JSONObject = owner["spec"]["template"]
        return present


def _in_order(data: JSONObject) -> JSONObject:
    """Data with its fields in the order of their names: clients compare revisions with templates byte by byte."""
    ordered: JSONObject = orjson.loads(orjson.dumps(data, option=orjson.OPT_SORT_KEYS))
    return ordered


def owners(item: Item[JSONObject]) -> list[str]:
    """The uid of the controller of an object, for indexes."""
    controller = meta_of(item.body).controller
    return [controller.uid] if controller is not None else []
