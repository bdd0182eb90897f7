"""Rows of what governs the cluster itself: access, admission, flow control, priorities, certificates, leases."""

from collections.abc import Callable
from typing import Any

from karmada.api import duration
from karmada.apiserver.printing import cells
from karmada.apiserver.printing.model import JSONObject, Printer, Printers, columns, table


def _binding(obj: JSONObject, now: float) -> list[Any]:
    role = cells.part(obj, "roleRef")
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in obj.get("subjects") or ():
        kind, name = subject.get("kind", ""), subject.get("name", "")
        if kind == "ServiceAccount":
            name = f"{subject['namespace']}/{name}" if subject.get("namespace") else name
        subjects.setdefault(kind, []).append(name)
    shown = (", ".join(subjects[kind]) for kind in ("User", "Group", "ServiceAccount"))
    return [cells.name_of(obj), f"{role.get('kind', '')}/{role.get('name', '')}", cells.age(obj, now), *shown]


def _webhooks(obj: JSONObject) -> int:
    return len(obj.get("webhooks") or ())


def _rules(obj: JSONObject) -> int:
    spec = cells.part(obj, "spec")
    return len(spec.get("validations") or spec.get("mutations") or ())


def _parameter_kind(obj: JSONObject) -> str:
    parameters = cells.part(obj, "spec").get("paramKind")
    return f"{parameters.get('apiVersion', '')}/{parameters.get('kind', '')}" if parameters else cells.UNSET


def _parameters(obj: JSONObject) -> str:
    reference = cells.part(obj, "spec").get("paramRef")
    if not reference:
        return cells.UNSET
    name = f"{reference.get('namespace') or '*'}/{reference.get('name')}"
    return name if reference.get("name") else cells.selector(reference.get("selector"))


def _budget(field: str) -> Callable[[JSONObject], str]:
    return lambda obj: str(cells.part(obj, "spec").get(field, "N/A"))


def _signing_request(obj: JSONObject, now: float) -> list[Any]:
    spec, status = cells.part(obj, "spec"), cells.part(obj, "status")
    wanted = spec.get("expirationSeconds")
    kinds = {item.get("type") for item in status.get("conditions") or ()}
    state = "Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"
    state += ",Failed" if "Failed" in kinds else ""
    state += ",Issued" if status.get("certificate") else ""
    return [
        cells.name_of(obj),
        cells.age(obj, now),
        spec.get("signerName") or cells.NONE,
        spec.get("username", ""),
        cells.NONE if wanted is None else duration.human(wanted),
        state,
    ]


def _precedence(obj: JSONObject) -> tuple[int, str]:
    return cells.count(cells.part(obj, "spec"), "matchingPrecedence"), cells.name_of(obj)


def _dangling(obj: JSONObject) -> str:
    return str((cells.condition(obj, "Dangling") or {}).get("status", "?"))


def _service(obj: JSONObject) -> str:
    service = cells.part(obj, "spec").get("service")
    return f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"


def _available(obj: JSONObject) -> str:
    available = cells.condition(obj, "Available")
    if available is None:
        return "Unknown"
    status = str(available.get("status", ""))
    return f"{status} ({available['reason']})" if status != "True" and available.get("reason") else status


_BINDING = columns("Name", "Role", "Age", "+Users", "+Groups", "+ServiceAccounts")
_WEBHOOKS = table("Name", ("Webhooks:integer", _webhooks), "Age")
_ADMISSION = "admissionregistration.k8s.io"
_FLOW = "flowcontrol.apiserver.k8s.io"
_POLICY_BINDING = table("Name", ("PolicyName", "spec.policyName"), ("ParamRef", _parameters), "Age")
_QUEUING = "spec.limited.limitResponse.queuing"

PRINTERS: Printers = {
    ("rbac.authorization.k8s.io", "rolebindings"): Printer(_BINDING, _binding),
    ("rbac.authorization.k8s.io", "clusterrolebindings"): Printer(_BINDING, _binding),
    (_ADMISSION, "mutatingwebhookconfigurations"): _WEBHOOKS,
    (_ADMISSION, "validatingwebhookconfigurations"): _WEBHOOKS,
    (_ADMISSION, "validatingadmissionpolicies"): table(
        "Name", ("Validations:integer", _rules), ("ParamKind", _parameter_kind), "Age"
    ),
    (_ADMISSION, "mutatingadmissionpolicies"): table(
        "Name", ("Mutations:integer", _rules), ("ParamKind", _parameter_kind), "Age"
    ),
    (_ADMISSION, "validatingadmissionpolicybindings"): _POLICY_BINDING,
    (_ADMISSION, "mutatingadmissionpolicybindings"): _POLICY_BINDING,
    ("policy", "poddisruptionbudgets"): table(
        "Name",
        ("Min Available", _budget("minAvailable")),
        ("Max Unavailable", _budget("maxUnavailable")),
        ("Allowed Disruptions:integer", "status.disruptionsAllowed"),
        "Age",
    ),
    ("scheduling.k8s.io", "priorityclasses"): table(
        "Name",
        ("Value:integer", "value"),
        ("Global-Default:boolean", "globalDefault"),
        "Age",
        ("PreemptionPolicy", "preemptionPolicy"),
    ),
    ("node.k8s.io", "runtimeclasses"): table("Name", ("Handler", "handler"), "Age"),
    ("coordination.k8s.io", "leases"): table("Name", ("Holder", "spec.holderIdentity"), "Age"),
    ("certificates.k8s.io", "certificatesigningrequests"): Printer(
        columns("Name", "Age", "SignerName", "Requestor", "RequestedDuration", "Condition"), _signing_request
    ),
    (_FLOW, "flowschemas"): table(
        "Name",
        ("PriorityLevel", "spec.priorityLevelConfiguration.name"),
        ("MatchingPrecedence", lambda obj: _precedence(obj)[0]),
        ("DistinguisherMethod", "spec.distinguisherMethod.type", cells.NONE),
        "Age",
        ("MissingPL", _dangling),
        order=_precedence,
    ),
    (_FLOW, "prioritylevelconfigurations"): table(
        "Name",
        ("Type", "spec.type"),
        ("NominalConcurrencyShares", "spec.limited.nominalConcurrencyShares", cells.NONE),
        ("Queues", f"{_QUEUING}.queues", cells.NONE),
        ("HandSize", f"{_QUEUING}.handSize", cells.NONE),
        ("QueueLengthLimit", f"{_QUEUING}.queueLengthLimit", cells.NONE),
        "Age",
    ),
    ("apiregistration.k8s.io", "apiservices"): table("Name", ("Service", _service), ("Available", _available), "Age"),
}
