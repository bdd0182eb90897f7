"""Approves the certificate requests of agents (`membership.agent_requests`), after asking whether the requester may.

A cluster that registers gets its execution space and its agent's roles here, before its first certificate: whoever
holds a bootstrap token never holds the right to write roles. Roles are bound to the registration, which begins with the
request: an earlier one of the same name has none from then on. They are taken back, and with them what the certificate
is worth, when no Cluster came of it: as soon as the request is withdrawn, or after a while.

The record of a registration (`agent_roles`) is written first, the token is spent next, and the record is settled then.
What fails before is tried again, or refused: then the record says whose roles they were. What is settled is approved
whatever becomes of the token.
"""

import asyncio
from collections.abc import Iterable

from karmada.api import annotations, names
from karmada.controllers.context import Context
from karmada.machinery.clock import parse_rfc3339, rfc3339
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result
from karmada.machinery.errors import Conflict, NotFound
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership import objects, token
from karmada.membership.agent_grant import NOTHING, Grant, grant_of, listed
from karmada.membership.agent_requests import (
    APPROVAL,
    BOOTSTRAP,
    RENEWAL,
    Ask,
    NotOurs,
    Refuse,
    Registered,
    beyond,
    granted,
    judge,
)
from karmada.membership.agent_roles import (
    agent_objects,
    agent_roles,
    marks_for,
    marks_of,
    recorded_registration,
    recorded_request,
    recorded_users,
    renewal_name,
    replacing_nothing,
    settle,
    settled,
)
from karmada.membership.credentials import ensure
from karmada.membership.objects import CLUSTERS, NAMESPACES
from karmada.membership.refusal import Refused
from karmada.membership.registration import is_agents_secret
from karmada.membership.unjoin import WORKS, discard

COMPONENT = "agent-csr-approving-controller"
REQUESTS = GroupVersionResource("certificates.k8s.io", "v1", "certificatesigningrequests")
REVIEWS = GroupVersionResource("authorization.k8s.io", "v1", "subjectaccessreviews")
PATIENCE = 3600.0
"""How long a registered cluster may take to appear; as long as Kubernetes keeps requests that were decided."""
APPROVED = "Auto approving karmada agent certificate after SubjectAccessReview."


class AgentRequestController:
    """Approves or denies the certificate signing requests of agents."""

    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._clock = context.clock
        self._requests: Informer[JSONObject] = context.informers.resource(REQUESTS)
        self._registering: dict[str, Registered] = {}
        """Registrations by the names of the requests that were granted."""
        self._turn = asyncio.Lock()
        """Held while roles are given or taken back: two registrations of one name must not mix theirs."""
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
            known = self._registering.get(name)
            if known is not None and not await self._is_member(known.cluster):
                async with self._turn:
                    await self._take_back(known)
            self._registering.pop(name, None)
            return DONE
        if (registered := granted(request)) is not None:
            return await self._watch_over(request, name, registered)
        judgement = judge(request)
        new = judgement.cluster if isinstance(judgement, Ask) and judgement.permission == BOOTSTRAP else ""
        if new:
            judgement = judge(request, await self._is_member(new))
        if isinstance(judgement, NotOurs):
            return DONE
        refusal: Refuse | None
        if isinstance(judgement, Refuse):
            refusal = judgement
        elif not await self._may(request, judgement.permission):
            return DONE
        else:
            async with self._turn:
                refusal = await self._accept(request, name, judgement)
        if refusal is not None:
            if new:
                async with self._turn:
                    await self._undo(request, new)
            await self._decide(request, "Denied", "Refused", refusal.reason)
        else:
            await self._decide(request, "Approved", APPROVAL, APPROVED)
        return DONE

    async def _accept(self, request: JSONObject, name: str, identity: Ask) -> Refuse | None:
        """Make what a proper request asks for hold, or say why not."""
        record = await self._found(objects.CLUSTER_ROLE_BINDINGS, objects.registration_record(identity.cluster))
        if identity.permission == RENEWAL:
            if record is None or recorded_registration(record) != identity.registration:
                return Refuse(f"this registration of {identity.cluster} is over: register again")
            if identity.registration and name != renewal_name(identity.cluster):
                # Karmada's own agent gives each renewal a name of its own, and reads it afterwards.
                role = agent_objects(identity.cluster, identity.registration, request=name)[1]
                await ensure(self._client, role.type, role.tree)
            return None
        if why := await self._obstacle(identity.cluster):
            return Refuse(why)
        if record is None or recorded_request(record) != _uid(request) or settled(record) is not record:
            try:
                await self._register(request, name, identity, record)
            except Refused as error:
                return Refuse(str(error))
        for replaced in recorded_users(record) if record is not None else ():
            if replaced != _user(request):
                await self._give_back(replaced, identity.cluster)
        return None

    async def _register(self, request: JSONObject, name: str, identity: Ask, record: JSONObject | None) -> None:
        """Have the roles of a cluster's agent be those of a new registration, and its token spent; or raise `Refused`,
        which leaves the rest to `_undo`."""
        cluster, user = identity.cluster, _user(request)
        earlier = recorded_users(record) if record is not None else ()
        is_over = user not in earlier
        grant = await self._allowed(request, identity, is_over=is_over)
        users = dict.fromkeys((user, *earlier) if _is_token(user) else earlier)
        marks = marks_for(request, users, settled(record))
        for wanted in agent_objects(cluster, identity.registration, request=name, grant=grant, marks=marks):
            await ensure(self._client, wanted.type, wanted.tree)
        if await self._is_member(cluster) or await self._obstacle(cluster):
            raise Refused(f"the name {cluster} was taken meanwhile: register under another one")
        # Only now that a record names it: a token that was used, and is in no record, had a cluster that has left.
        await self._allowed(request, identity, is_over=is_over, spends=True)
        written = await self._found(objects.CLUSTER_ROLE_BINDINGS, objects.registration_record(cluster))
        if written is not None:
            await Committer(self._client.resource(objects.CLUSTER_ROLE_BINDINGS)).commit(written, settle)

    async def _undo(self, request: JSONObject, cluster: str) -> None:
        """Give back what attempts to accept a request took which is refused; the record goes last, so that it says
        what is left to do. Roles that others have stay."""
        record = await self._found(objects.CLUSTER_ROLE_BINDINGS, objects.registration_record(cluster))
        if record is not None and recorded_request(record) != _uid(request):
            return
        before = settled(record)
        if before is record:
            # A Cluster may be of an earlier certificate of the same registration.
            if await self._is_member(cluster):
                return
            before = None
        kept = recorded_users(before) if before is not None else ()
        for user in recorded_users(record) if record is not None else ():
            if user not in kept:
                await self._give_back(user, cluster)
        if before is not None and (previous := recorded_registration(before)):
            again = agent_objects(cluster, previous, marks=marks_of(before))
            for wanted in sorted(again, key=lambda each: each.type == objects.CLUSTER_ROLE_BINDINGS):
                await ensure(self._client, wanted.type, wanted.tree)
            return
        for type_, role, space in reversed(agent_roles(cluster)):
            await discard(self._client, type_, role, space)

    async def _obstacle(self, cluster: str) -> str:
        """Why nobody may become the agent of a cluster: it could read a Secret that is not its own."""
        for name in objects.secret_names(cluster):
            secret = await self._found(objects.SECRETS, name, names.CLUSTER_NAMESPACE)
            if secret is not None and not is_agents_secret(secret, cluster):
                where = f"{names.CLUSTER_NAMESPACE}/{name}"
                return f"Secret {where} exists and is not of an agent: take another name, or delete it if it is unused"
        return ""

    async def _allowed(self, request: JSONObject, identity: Ask, *, is_over: bool, spends: bool = False) -> Grant:
        """What the requester's token allows; `Refused` when it is not enough. `spends`: this use is written down."""
        user = _user(request)
        if not _is_token(user):
            if why := beyond(request, identity, NOTHING, ()):
                raise Refused(why)
            return NOTHING
        secret = await self._token(user)
        if secret is None:
            raise Refused("the bootstrap token is gone: create another one (karmadactl token create)")
        grant = grant_of(secret["metadata"].get("annotations") or {})

        def decide(current: JSONObject) -> JSONObject:
            used = _used(current)
            if why := beyond(request, identity, grant, used, is_over=is_over):
                raise Refused(why)
            return _noting(current, dict.fromkeys((*used, identity.cluster))) if spends else current

        await Committer(self._client.resource(objects.SECRETS)).commit(secret, decide)
        return grant

    async def _give_back(self, user: str, cluster: str) -> None:
        """Let a cluster that never came use its token again."""
        secret = await self._token(user) if _is_token(user) else None
        if secret is not None and cluster in _used(secret):
            committer = Committer(self._client.resource(objects.SECRETS))
            await committer.commit(secret, lambda s: _noting(s, [one for one in _used(s) if one != cluster]))

    async def _token(self, user: str) -> JSONObject | None:
        where = names.BOOTSTRAP_TOKEN_PREFIX + user.removeprefix(names.BOOTSTRAP_USER_PREFIX)
        return await self._found(objects.SECRETS, where, token.SPACE)

    async def _watch_over(self, request: JSONObject, name: str, registered: Registered) -> Result:
        """See whether a registration that was granted leads to a Cluster."""
        self._registering[name] = registered
        if await self._is_member(registered.cluster):
            return DONE
        times = [c.get("lastUpdateTime") for c in request["status"]["conditions"] if c.get("reason") == APPROVAL]
        left = parse_rfc3339(times[0]) + PATIENCE - self._clock.now() if times and times[0] else PATIENCE
        if left > 0:
            return RequeueAfter(left)
        # Its disappearance is what takes the roles back.
        await discard(self._client, REQUESTS, name)
        return DONE

    async def _take_back(self, gone: Registered) -> None:
        """Remove the roles of an agent whose cluster never came; those of a later registration stay."""
        cluster = gone.cluster
        record = await self._found(objects.CLUSTER_ROLE_BINDINGS, objects.registration_record(cluster))
        if record is not None and recorded_registration(record) != gone.registration:
            before = settled(record)
            if before is not None and recorded_registration(before) == gone.registration:
                # Should the one that replaces it be refused, it is not good again.
                await self._give_back(gone.requester, cluster)
                await Committer(self._client.resource(objects.CLUSTER_ROLE_BINDINGS)).commit(record, replacing_nothing)
            return
        if record is not None:
            await self._give_back(gone.requester, cluster)
        await self._take_roles(cluster)
        for name in objects.secret_names(cluster):
            secret = await self._found(objects.SECRETS, name, names.CLUSTER_NAMESPACE)
            if secret is not None and is_agents_secret(secret, cluster):
                await Committer(self._client.resource(objects.SECRETS)).remove(
                    secret, lambda current: is_agents_secret(current, cluster)
                )
        works = names.execution_space(cluster)
        if not (await self._client.resource(WORKS).list(Scope(works))).items:
            await discard(self._client, NAMESPACES, works)

    async def _take_roles(self, cluster: str) -> None:
        for type_, name, space in agent_roles(cluster):
            await discard(self._client, type_, name, space)

    async def _found(self, type_: GroupVersionResource, name: str, space: str = "") -> JSONObject | None:
        try:
            return await self._client.resource(type_).get(name, space)
        except NotFound:
            return None

    async def _is_member(self, cluster: str) -> bool:
        return await self._found(CLUSTERS, cluster) is not None

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
        if change.new is None and change.old is not None and (registered := granted(change.old.value)) is not None:
            self._registering[change.key.name] = registered
        return [change.key.name]


def _user(request: JSONObject) -> str:
    """Who sent a request."""
    return str(request["spec"].get("username") or "")


def _uid(request: JSONObject) -> str:
    """What tells a request from others of its name."""
    return str(request["metadata"]["uid"])


def _is_token(user: str) -> bool:
    """Whether a user is the holder of a bootstrap token."""
    return user.startswith(names.BOOTSTRAP_USER_PREFIX)


def _used(token_secret: JSONObject) -> tuple[str, ...]:
    """The clusters that used a token."""
    return listed((token_secret["metadata"].get("annotations") or {}).get(annotations.REGISTERED_CLUSTERS))


def _noting(token_secret: JSONObject, used: Iterable[str]) -> JSONObject:
    """A token that these clusters used."""
    metadata = token_secret["metadata"]
    marked = (metadata.get("annotations") or {}) | {annotations.REGISTERED_CLUSTERS: ",".join(used)}
    return {**token_secret, "metadata": {**metadata, "annotations": marked}}
