"""Admission of what agents write (`membership.agent_writes`), in the servers of this project."""

from karmada.apiserver.admission.model import AdmissionRequest
from karmada.apiserver.failures import forbidden
from karmada.membership import agent_writes


class AgentGuard:
    """Limits what agents may write. An `AdmissionPlugin`."""

    def applies(self, request: AdmissionRequest) -> bool:
        """Only agents, and only what they may write at all."""
        return agent_writes.is_agent(request.user.name) and request.object is not None

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing is changed."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Refuse what is not the agent's own."""
        group, plural = request.type.group, request.type.plural
        why = agent_writes.problem(request.user.name, (group, plural), request.name, request.object or {})
        if why:
            raise forbidden(group, plural, request.name, why)
