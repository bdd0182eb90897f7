"""The status of CustomResourceDefinitions: which names are accepted, and the conditions that say so.

Names must be unique within a group among established definitions. A definition whose names are taken is neither
accepted nor served; once accepted it is established for good.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

JSONObject = dict[str, Any]


@dataclass(slots=True)
class Names:
    """Names in use by the other definitions of a group."""

    resources: set[str] = field(default_factory=set)
    """Plural, singular and short names together."""
    kinds: set[str] = field(default_factory=set)
    """Kinds and list kinds together."""

    @classmethod
    def of(cls, others: Iterable[JSONObject]) -> "Names":
        """The accepted names of other definitions of the same group."""
        names = cls()
        for crd in others:
            accepted = (crd.get("status") or {}).get("acceptedNames") or {}
            names.resources.update(accepted.get("shortNames") or ())
            names.resources.update(filter(None, (accepted.get("plural"), accepted.get("singular"))))
            names.kinds.update(filter(None, (accepted.get("kind"), accepted.get("listKind"))))
        return names


def crd_status(crd: JSONObject, taken: Names, now: str) -> JSONObject:
    """The status a definition should have; `now` is the time of transitions, RFC 3339. The CRD is not changed."""
    status: JSONObject = {**(crd.get("status") or {})}
    requested = crd["spec"]["names"]
    accepted, conflict = _accept(requested, status.get("acceptedNames") or {}, taken)
    conditions = [*(status.get("conditions") or ())]
    if conflict is None:
        _set(conditions, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now)
    else:
        reason, message = conflict
        _set(conditions, "NamesAccepted", "False", reason, message, now)
    if not any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
        if conflict is None:
            message = "the initial names have been accepted"
            _set(conditions, "Established", "True", "InitialNamesAccepted", message, now)
        else:
            _set(conditions, "Established", "False", "NotAccepted", "not all names are accepted", now)
    storage = [version["name"] for version in crd["spec"]["versions"] if version.get("storage")]
    stored = list(status.get("storedVersions") or storage)
    return {**status, "conditions": conditions, "acceptedNames": accepted, "storedVersions": stored}


def terminating(crd: JSONObject, reason: str, message: str, now: str) -> JSONObject:
    """The status while the objects of a definition are being deleted."""
    status: JSONObject = {**(crd.get("status") or {})}
    conditions = [*(status.get("conditions") or ())]
    _set(conditions, "Terminating", "True", reason, message, now)
    return {**status, "conditions": conditions}


def is_established(crd: JSONObject) -> bool:
    """Whether the definition is served."""
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == "Established" and c.get("status") == "True" for c in conditions)


def _accept(requested: JSONObject, accepted: JSONObject, taken: Names) -> tuple[JSONObject, tuple[str, str] | None]:
    """The names that are free, else those accepted before, and the last conflict."""
    result: JSONObject = {"plural": "", "kind": "", **accepted}
    conflict = None
    for name, used, reason in (
        ("plural", taken.resources, "PluralConflict"),
        ("singular", taken.resources, "SingularConflict"),
        ("shortNames", taken.resources, "ShortNamesConflict"),
        ("kind", taken.kinds, "KindConflict"),
        ("listKind", taken.kinds, "ListKindConflict"),
    ):
        value = requested.get(name)
        if not value:
            continue
        wanted = value if isinstance(value, list) else [value]
        clashes = [text for text in wanted if text in used]
        if clashes:
            conflict = (reason, ", ".join(f'"{text}" is already in use' for text in clashes))
        else:
            result[name] = value
    if conflict is None:
        return {**requested}, None
    return result, conflict


def _set(conditions: list[JSONObject], kind: str, status: str, reason: str, message: str, now: str) -> None:
    new = {"type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message}
    for index, old in enumerate(conditions):
        if old["type"] == kind:
            if old["status"] == status:
                new["lastTransitionTime"] = old["lastTransitionTime"]
            conditions[index] = new
            return
    conditions.append(new)
