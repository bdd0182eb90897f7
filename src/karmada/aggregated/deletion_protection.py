"""Admission of deletions in the aggregated server, whose objects webhooks do not see."""

from karmada.api import labels
from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.failures import forbidden


class DeletionProtection:
    """Refuses to delete what a label protects. An `AdmissionPlugin`."""

    def applies(self, request: AdmissionRequest) -> bool:
        """Deletions of whole objects."""
        return request.operation is Operation.DELETE and not request.subresource

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing is changed."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Look for the label."""
        marks = ((request.old or {}).get("metadata") or {}).get("labels") or {}
        if marks.get(labels.DELETION_PROTECTED) == labels.DELETION_PROTECTED_ALWAYS:
            why = f"This resource is protected, please make sure to remove the label: {labels.DELETION_PROTECTED}"
            raise forbidden(request.type.group, request.type.plural, request.name, why)
