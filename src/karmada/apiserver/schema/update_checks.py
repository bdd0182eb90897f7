"""How often an update's metadata is looked at: each look at something wrong is a cause of the refusal.

Every update is looked at twice, as an object and as a change. Most kinds look again by their own rules: as a change
(`u`), as an object (`f`, `g` if not at prefixes of names), and with capitals by the rules of core kinds, which want a
domain in the names of finalizers.
"""

from functools import cache
from typing import NamedTuple


class Looks(NamedTuple):
    """The further looks at updates of a kind and of its status, and the metadata that a status update cannot change."""

    main: str
    status: str = ""
    kept: tuple[str, ...] = ()


_ALL = ("labels", "annotations", "ownerReferences", "finalizers")
_RESET = (*_ALL, "deletionTimestamp")
_WHOLE = (*_RESET, "uid", "deletionGracePeriodSeconds", "generateName")
CUSTOM = Looks("u", "u")
_USUAL = Looks("UF", "U")
_CHANGES = Looks("U", "U")
_OBJECTS = Looks("F")
_PLAIN = Looks("f")
_KINDS = {
    **dict.fromkeys(
        (
            ("apps", "ReplicaSet"),
            ("apps", "StatefulSet"),
            ("apps", "DaemonSet"),
            ("", "ReplicationController"),
            ("", "ResourceQuota"),
            ("", "Service"),
            ("", "PodTemplate"),
            ("autoscaling", "HorizontalPodAutoscaler"),
            ("events.k8s.io", "Event"),
            ("networking.k8s.io", "NetworkPolicy"),
            ("resource.k8s.io", "ResourceSlice"),
            ("scheduling.k8s.io", "PriorityClass"),
            ("storage.k8s.io", "CSIDriver"),
        ),
        _CHANGES,
    ),
    **dict.fromkeys(
        (("discovery.k8s.io", "EndpointSlice"), ("", "LimitRange"), ("storage.k8s.io", "CSINode")), _OBJECTS
    ),
    **dict.fromkeys(
        (
            ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
            ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
            ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
            ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
            ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ),
        _PLAIN,
    ),
    ("apps", "Deployment"): Looks("U", "U", ("labels",)),
    ("", "Pod"): Looks("UF", "U", ("ownerReferences", "deletionTimestamp")),
    ("", "Event"): Looks(""),
    ("", "PersistentVolume"): Looks("FF", "U"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): Looks("f", "", _RESET),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): Looks("u", "u"),
    ("apiregistration.k8s.io", "APIService"): Looks("uf", "u", _ALL),
    ("batch", "CronJob"): Looks("U", ""),
    ("certificates.k8s.io", "CertificateSigningRequest"): Looks("UF", "UF"),
    ("coordination.k8s.io", "Lease"): Looks("u"),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): Looks("F", "", _WHOLE),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): Looks("F", "", _WHOLE),
    ("networking.k8s.io", "ServiceCIDR"): Looks("U", "U", _RESET),
    ("node.k8s.io", "RuntimeClass"): Looks("uf"),
    ("policy", "PodDisruptionBudget"): Looks(""),
    ("resource.k8s.io", "DeviceClass"): Looks("UG"),
    ("resource.k8s.io", "ResourceClaim"): Looks("UF", "U", _RESET),
    ("storage.k8s.io", "VolumeAttachment"): Looks("F", "", _RESET),
}


def looks_at(group: str, kind: str) -> Looks:
    """How a built-in kind looks at updates."""
    return _KINDS.get((group, kind), _USUAL)


@cache
def as_change(further: str) -> int:
    """How often an update is looked at as a change."""
    return 1 + further.lower().count("u")
