"""Approves the certificate requests of agents (`membership.agent_requests`), after asking whether the requester may.

A cluster that registers gets its execution space and its agent's roles here, before its first certificate: whoever
holds a bootstrap token never holds the right to write roles.
"""

from karmada.controllers.context import Context
from karmada.machinery.clock import rfc3339
from karmada.machinery.controller import DONE, Controller, Result
from karmada.machinery.errors import Conflict, NotFound
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership.agent_requests import BOOTSTRAP, Ask, NotOurs, Refuse, judge
from karmada.membership.agent_roles import agent_objects
from karmada.membership.credentials import ensure
from karmada.membership.objects import CLUSTERS

COMPONENT = "agent-csr-approving-controller"
REQUESTS = GroupVersionResource("certificates.k8s.io", "v1", "certificatesigningrequests")
REVIEWS = GroupVersionResource("authorization.k8s.io", "v1", "subjectaccessreviews")
APPROVED = "Auto approving karmada agent certificate after SubjectAccessReview."


class AgentRequestController:
    """See the module."""

    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._clock = context.clock
        self._requests: Informer[JSONObject] = context.informers.resource(REQUESTS)
        self.controller: Controller[str] = Controller(
            COMPONENT,
            self.reconcile,
            workers=5,
            needs=(self._requests,),
            clock=context.clock,
        )
        self.controller.watch(self._requests, _changed)

    async def reconcile(self, name: str) -> Result:
        """Decide one request."""
        request = self._requests.get(name)
        if request is None:
            return DONE
        judgement = judge(request)
        if isinstance(judgement, Ask) and judgement.permission == BOOTSTRAP:
            judgement = judge(request, await self._is_member(judgement.cluster))
        if isinstance(judgement, NotOurs):
            return DONE
        if isinstance(judgement, Refuse):
            await self._decide(request, "Denied", "Refused", judgement.reason)
            return DONE
        if not await self._may(request, judgement.permission):
            return DONE
        if judgement.permission == BOOTSTRAP:
            for wanted in agent_objects(judgement.cluster):
                await ensure(self._client, wanted.type, wanted.tree)
        await self._decide(request, "Approved", "AutoApproved", APPROVED)
        return DONE

    async def _is_member(self, cluster: str) -> bool:
        try:
            await self._client.resource(CLUSTERS).get(cluster)
        except NotFound:
            return False
        return True

    async def _may(self, request: JSONObject, permission: str) -> bool:
        spec = request["spec"]
        review: JSONObject = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": spec.get("username", ""),
                "uid": spec.get("uid", ""),
                "groups": spec.get("groups") or [],
                "extra": spec.get("extra") or {},
                "resourceAttributes": {
                    "group": "certificates.k8s.io",
                    "version": "*",
                    "resource": "certificatesigningrequests",
                    "subresource": permission,
                    "verb": "create",
                },
            },
        }
        answer = await self._client.resource(REVIEWS).create(review)
        return bool((answer.get("status") or {}).get("allowed"))

    async def _decide(self, request: JSONObject, kind: str, reason: str, message: str) -> None:
        now = rfc3339(self._clock.now())
        condition = {
            "type": kind,
            "status": "True",
            "reason": reason,
            "message": message,
            "lastUpdateTime": now,
            "lastTransitionTime": now,
        }
        status = request.get("status") or {}
        decided = {**request, "status": {**status, "conditions": [*(status.get("conditions") or ()), condition]}}
        try:
            await self._client.resource(REQUESTS).update(decided, "approval")
        except (Conflict, NotFound):
            return


def _changed(change: Change[JSONObject]) -> list[str]:
    return [change.key.name] if change.new is not None else []
