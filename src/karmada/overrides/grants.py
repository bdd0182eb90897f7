"""What a role or its binding lets people do: not for those to change who may write override policies only.

The control plane lets nobody grant what they do not hold. An override of one namespace that could rewrite rules, role
or subjects of a copy would do so in every member, on behalf of people who may write no role at all.
"""

import copy
from typing import Any

from karmada.overrides.pods import JSONObject

_GROUP = "rbac.authorization.k8s.io/"
_FIELDS = ("rules", "roleRef", "subjects")


def granted(resource: JSONObject) -> list[Any] | None:
    """What a resource grants, as it is now; None for one that grants nothing."""
    if not str(resource.get("apiVersion")).startswith(_GROUP):
        return None
    return copy.deepcopy([resource.get(field) for field in _FIELDS])
