"""Approves the certificate requests of agents (`membership.agent_requests`), after asking whether the requester may.

A cluster that registers gets its execution space and its agent's roles here, before its first certificate: whoever
holds a bootstrap token never holds the right to write roles. They are taken back, and with them what the certificate is
worth, when no Cluster came of it: as soon as the request is withdrawn, or after a while.
"""

from karmada.api import names
from karmada.controllers.context import Context
from karmada.machinery.clock import parse_rfc3339, rfc3339
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result
from karmada.machinery.errors import Conflict, NotFound
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership.agent_requests import APPROVAL, BOOTSTRAP, Ask, NotOurs, Refuse, granted, judge
from karmada.membership.agent_roles import agent_objects
from karmada.membership.credentials import ensure
from karmada.membership.objects import CLUSTERS, NAMESPACES
from karmada.membership.unjoin import WORKS, discard

COMPONENT = "agent-csr-approving-controller"
REQUESTS = GroupVersionResource("certificates.k8s.io", "v1", "certificatesigningrequests")
REVIEWS = GroupVersionResource("authorization.k8s.io", "v1", "subjectaccessreviews")
PATIENCE = 3600.0
"""How long a registered cluster may take to appear; as long as Kubernetes keeps requests that were decided."""
APPROVED = "Auto approving karmada agent certificate after SubjectAccessReview."


class AgentRequestController:
    """See the module."""

    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._clock = context.clock
        self._requests: Informer[JSONObject] = context.informers.resource(REQUESTS)
        self._registering: dict[str, str] = {}
        """Clusters by the names of the requests that were granted for their agents."""
        self.controller: Controller[str] = Controller(
            COMPONENT,
            self.reconcile,
            workers=5,
            needs=(self._requests,),
            clock=context.clock,
        )
        self.controller.watch(self._requests, self._changed)

    async def reconcile(self, name: str) -> Result:
        """Decide one request."""
        request = self._requests.get(name)
        if request is None:
            cluster = self._registering.get(name, "")
            if cluster and not await self._is_member(cluster):
                await self._take_back(cluster, name)
            self._registering.pop(name, None)
            return DONE
        if cluster := granted(request):
            return await self._watch_over(request, name, cluster)
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
            for wanted in agent_objects(judgement.cluster, request=name):
                await ensure(self._client, wanted.type, wanted.tree)
        await self._decide(request, "Approved", APPROVAL, APPROVED)
        return DONE

    async def _watch_over(self, request: JSONObject, name: str, cluster: str) -> Result:
        """See whether a registration that was granted leads to a Cluster."""
        self._registering[name] = cluster
        if await self._is_member(cluster):
            return DONE
        times = [c.get("lastUpdateTime") for c in request["status"]["conditions"] if c.get("reason") == APPROVAL]
        left = parse_rfc3339(times[0]) + PATIENCE - self._clock.now() if times and times[0] else PATIENCE
        if left > 0:
            return RequeueAfter(left)
        # Its disappearance is what takes the roles back.
        await discard(self._client, REQUESTS, name)
        return DONE

    async def _take_back(self, cluster: str, request: str) -> None:
        """Remove the roles of an agent whose cluster never came; not while another request is on its way."""
        if any(known == cluster and name != request for name, known in self._registering.items()):
            return
        for made in reversed(agent_objects(cluster)[1:]):
            metadata = made.tree["metadata"]
            await discard(self._client, made.type, metadata["name"], metadata.get("namespace", ""))
        works = names.execution_space(cluster)
        if not (await self._client.resource(WORKS).list(Scope(works))).items:
            await discard(self._client, NAMESPACES, works)

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

    def _changed(self, change: Change[JSONObject]) -> list[str]:
        if change.new is None and change.old is not None and (cluster := granted(change.old.value)):
            self._registering[change.key.name] = cluster
        return [change.key.name]
