"""Nobody grants more than they have: the check on roles and bindings."""

from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.auth.escalation import check_write
from karmada.apiserver.auth.rbac import GROUP, KINDS, RbacAuthorizer


class EscalationCheck:
    """Refuses roles and bindings that grant what the writer does not have."""

    kinds = tuple((GROUP, resource) for resource in KINDS)
    operations = (Operation.CREATE, Operation.UPDATE)

    def __init__(self, rbac: RbacAuthorizer) -> None:
        self._rbac = rbac

    def applies(self, request: AdmissionRequest) -> bool:
        """All of these."""
        return True

    async def mutate(self, request: AdmissionRequest) -> None:
        """The same as `validate`: whoever may not grant something does not learn whether it is valid."""
        await self.validate(request)

    async def validate(self, request: AdmissionRequest) -> None:
        """Compare the grant with the writer's own rights."""
        if request.object is not None:
            check_write(self._rbac, request.user, request.type.plural, request.object, request.old)
