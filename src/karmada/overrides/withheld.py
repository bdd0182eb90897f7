"""Kinds that those who may edit a namespace may not write there: override policies of the namespace leave their copies
alone.

The control plane lets nobody grant what they do not hold, raise the quota that limits them, or send requests for a
Service to addresses of their choice. An override that could rewrite a copy would do so in every member. One that could
change only its labels could still make a copy that members refuse, and so have them keep the former. A propagation
policy of the namespace says where such copies are, and not how long: see `karmada.policies.binding`.
"""

_KINDS = frozenset(
    {
        ("", "Endpoints"),
        ("", "LimitRange"),
        ("", "ResourceQuota"),
        ("discovery.k8s.io", "EndpointSlice"),
        ("rbac.authorization.k8s.io", "Role"),
        ("rbac.authorization.k8s.io", "RoleBinding"),
    }
)


def is_withheld(api_version: object, kind: object) -> bool:
    """Whether policies of a namespace leave copies of a kind as they are."""
    group, slash, _ = str(api_version).partition("/")
    return (group if slash else "", str(kind)) in _KINDS
