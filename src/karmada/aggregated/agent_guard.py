"""Admission of what agents write (`membership.agent_writes`, `agent_grant`), in the servers of this project."""

from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.failures import forbidden
from karmada.machinery.client import Client
from karmada.machinery.errors import NotFound
from karmada.membership import agent_writes, objects
from karmada.membership.agent_grant import REMEDY, limit
from karmada.membership.agent_identity import is_agent, registration_of
from karmada.membership.agent_roles import recorded_grant, recorded_registration
from karmada.membership.refusal import Refused


class AgentGuard:
    """Limits what agents may write. An `AdmissionPlugin`; `connect` comes before the first request."""

    _hub: Client

    def connect(self, hub: Client) -> None:
        """Read the records of registrations with this client."""
        self._hub = hub

    def applies(self, request: AdmissionRequest) -> bool:
        """Only agents, and only what they may write at all."""
        return is_agent(request.user.name) and request.object is not None

    async def mutate(self, request: AdmissionRequest) -> None:
        """Have a new Cluster say only what its agent may choose, with the labels that its token gives it, and one that
        is there what Remedies ask for."""
        group, plural = request.type.group, request.type.plural
        cluster = request.object
        if (group, plural) != agent_writes.CLUSTERS or cluster is None:
            return
        if request.operation is not Operation.CREATE:
            agent_writes.keep_remedies(cluster, request.old or {})
            return
        self._refuse(request)
        try:
            record = await self._hub.resource(objects.CLUSTER_ROLE_BINDINGS).get(
                objects.registration_record(request.name)
            )
        except NotFound:
            raise forbidden(group, plural, request.name, "its agent is not registered: register it again") from None
        if recorded_registration(record) != registration_of(request.user.groups):
            why = "this registration of its agent is over: register it again"
            raise forbidden(group, plural, request.name, why)
        try:
            gone = limit(cluster, recorded_grant(record))
        except Refused as error:
            raise forbidden(group, plural, request.name, str(error)) from None
        request.warnings += [f"{field} was not taken: {REMEDY}" for field in gone]

    async def validate(self, request: AdmissionRequest) -> None:
        """Refuse what is not the agent's own."""
        self._refuse(request)

    def _refuse(self, request: AdmissionRequest) -> None:
        group, plural = request.type.group, request.type.plural
        why = agent_writes.problem(request.user.name, (group, plural), request.name, request.object or {}, request.old)
        if why:
            raise forbidden(group, plural, request.name, why)
