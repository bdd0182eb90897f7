"""What the administrator lets an agent choose, said on the bootstrap token it registers with. Without I/O.

An agent is not trusted with what others decide by: labels, provider, region, zones and taints select clusters, and
addresses are where the control plane connects to. Of these it gets what its token allows, and by default nothing. What
it may not choose is left out of its Cluster and named in a warning; an administrator can set it afterwards.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from karmada.api import annotations, name_rules
from karmada.membership.refusal import Refused

FIRST_CERTIFICATE_SECONDS = 24 * 3600
SHORTEST_CERTIFICATE_SECONDS = 600
"""Kubernetes refuses requests for less."""
FIELDS: Mapping[str, Sequence[str]] = {
    "apiEndpoint": ("apiEndpoint", "insecureSkipTLSVerification"),
    "provider": ("provider",),
    "proxyURL": ("proxyURL", "proxyHeader"),
    "region": ("region",),
    "resourceModels": ("resourceModels",),
    "taints": ("taints",),
    "zones": ("zone", "zones"),
}
"""What may be allowed, and the fields of a Cluster's spec that it covers."""
OWN_FIELDS = frozenset({"id", "impersonatorSecretRef", "secretRef", "syncMode"})
"""Fields that every agent writes; `agent_writes` bounds their values."""
REMEDY = "the bootstrap token does not allow it (karmadactl token create --allow, --cluster-labels)"


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token allows those who register with it."""

    registrations: int = 1
    clusters: Sequence[str] = ()
    """Names under which clusters may register; empty for any."""
    certificate_seconds: int = FIRST_CERTIFICATE_SECONDS
    fields: Sequence[str] = ()
    labels: Mapping[str, str] = field(default_factory=dict)

    def check(self) -> None:
        """Refuse a grant that says nothing sensible."""
        if self.registrations < 1:
            raise Refused(f"a token allows at least one registration, not {self.registrations}")
        if self.certificate_seconds < SHORTEST_CERTIFICATE_SECONDS:
            shortest = SHORTEST_CERTIFICATE_SECONDS
            raise Refused(f"no certificate can be asked for less than {shortest} s, not for {self.certificate_seconds}")
        for one in self.fields:
            if one not in FIELDS:
                raise Refused(f"{one} is no field that can be allowed: {', '.join(FIELDS)}")
        for key, value in self.labels.items():
            if problems := name_rules.label_key(key) + name_rules.label_value(value):
                raise Refused(f"label {key}={value}: {'; '.join(problems)}")


NOTHING = Grant()
EVERYTHING = Grant(fields=tuple(FIELDS))
"""For agents whose operator is the control plane's own administrator."""


def grant_of(noted: Mapping[str, str]) -> Grant:
    """The grant in the annotations of a token or of a registration's record; `Refused` names what cannot be read."""
    try:
        made = Grant(
            int(noted.get(annotations.ALLOWED_REGISTRATIONS) or NOTHING.registrations),
            listed(noted.get(annotations.ALLOWED_CLUSTERS)),
            int(noted.get(annotations.ALLOWED_CERTIFICATE_SECONDS) or NOTHING.certificate_seconds),
            listed(noted.get(annotations.ALLOWED_FIELDS)),
            parse_labels(listed(noted.get(annotations.GRANTED_LABELS))),
        )
        made.check()
    except ValueError as error:
        raise Refused(f"an annotation agent.karmada.io/* cannot be read: {error}") from None
    return made


def noted(grant: Grant) -> dict[str, str]:
    """The annotations that say what a grant says; what is default is left out."""
    values = {
        annotations.ALLOWED_REGISTRATIONS: _unless(NOTHING.registrations, grant.registrations),
        annotations.ALLOWED_CLUSTERS: ",".join(grant.clusters),
        annotations.ALLOWED_CERTIFICATE_SECONDS: _unless(NOTHING.certificate_seconds, grant.certificate_seconds),
    }
    return {key: value for key, value in values.items() if value} | recorded(grant)


def recorded(grant: Grant) -> dict[str, str]:
    """The part of a grant that outlives the token: what the agent's Cluster may say."""
    labels = ",".join(f"{key}={value}" for key, value in grant.labels.items())
    values = {annotations.ALLOWED_FIELDS: ",".join(grant.fields), annotations.GRANTED_LABELS: labels}
    return {key: value for key, value in values.items() if value}


def limit(cluster: dict[str, Any], grant: Grant) -> list[str]:
    """Take out of an agent's new Cluster what it may not choose, and give it its labels; what was taken out."""
    metadata, spec = cluster.get("metadata") or {}, cluster.get("spec") or {}
    allowed = OWN_FIELDS.union(*(FIELDS[one] for one in grant.fields))
    gone = [f"spec.{one}" for one in spec if one not in allowed and spec[one] not in (None, "", [], {}, False)]
    cluster["spec"] = {one: value for one, value in spec.items() if one in allowed}
    chosen = metadata.get("labels") or {}
    gone += [f"metadata.labels[{key}]" for key, value in chosen.items() if grant.labels.get(key) != value]
    gone += [f"metadata.{one}" for one in ("annotations", "finalizers", "ownerReferences") if metadata.pop(one, None)]
    metadata.pop("labels", None)
    if grant.labels:
        metadata["labels"] = dict(grant.labels)
    return gone


def parse_labels(pairs: Sequence[str]) -> dict[str, str]:
    """Labels from `key=value` items."""
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise Refused(f"label {pair} is not of the form key=value")
        found[key] = value
    return found


def listed(text: str | None) -> tuple[str, ...]:
    """The items of a comma-separated list."""
    return tuple(part for item in (text or "").split(",") if (part := item.strip()))


def _unless(usual: int, value: int) -> str:
    return "" if value == usual else str(value)
