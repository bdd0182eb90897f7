"""Custom resources: what a CustomResourceDefinition says, as resource types and rules."""

from karmada.apiserver.crds.status import Names, crd_status
from karmada.apiserver.crds.types import resource_types_of
from karmada.apiserver.crds.validation import validate_crd

__all__ = ["Names", "crd_status", "resource_types_of", "validate_crd"]
