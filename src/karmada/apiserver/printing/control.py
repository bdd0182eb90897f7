"""Rows of what governs the cluster itself: access, admission, flow control, priorities, certificates, leases."""

from typing import Any

from karmada.api import duration
from karmada.apiserver.printing import cells
from karmada.apiserver.printing.model import JSONObject, Printer, Printers, columns


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


def _webhooks(obj: JSONObject, now: float) -> list[Any]:
    return [cells.name_of(obj), len(obj.get("webhooks") or ()), cells.age(obj, now)]


def _admission_policy(obj: JSONObject, now: float) -> list[Any]:
    spec = cells.part(obj, "spec")
    parameters = spec.get("paramKind")
    kind = f"{parameters.get('apiVersion', '')}/{parameters.get('kind', '')}" if parameters else cells.UNSET
    rules = spec.get("validations") or spec.get("mutations") or ()
    return [cells.name_of(obj), len(rules), kind, cells.age(obj, now)]


def _admission_binding(obj: JSONObject, now: float) -> list[Any]:
    spec = cells.part(obj, "spec")
    reference = spec.get("paramRef")
    shown = cells.UNSET
    if reference:
        name = f"{reference.get('namespace') or '*'}/{reference.get('name')}"
        shown = name if reference.get("name") else cells.selector(reference.get("selector"))
    return [cells.name_of(obj), spec.get("policyName", ""), shown, cells.age(obj, now)]


def _disruption_budget(obj: JSONObject, now: float) -> list[Any]:
    spec = cells.part(obj, "spec")
    return [
        cells.name_of(obj),
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        cells.count(cells.part(obj, "status"), "disruptionsAllowed"),
        cells.age(obj, now),
    ]


def _priority_class(obj: JSONObject, now: float) -> list[Any]:
    return [
        cells.name_of(obj),
        cells.count(obj, "value"),
        bool(obj.get("globalDefault")),
        cells.age(obj, now),
        obj.get("preemptionPolicy", ""),
    ]


def _runtime_class(obj: JSONObject, now: float) -> list[Any]:
    return [cells.name_of(obj), obj.get("handler", ""), cells.age(obj, now)]


def _lease(obj: JSONObject, now: float) -> list[Any]:
    return [cells.name_of(obj), cells.part(obj, "spec").get("holderIdentity") or "", cells.age(obj, now)]


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


def _flow_schema(obj: JSONObject, now: float) -> list[Any]:
    spec = cells.part(obj, "spec")
    return [
        cells.name_of(obj),
        cells.part(spec, "priorityLevelConfiguration").get("name", ""),
        cells.count(spec, "matchingPrecedence"),
        cells.part(spec, "distinguisherMethod").get("type") or cells.NONE,
        cells.age(obj, now),
        (cells.condition(obj, "Dangling") or {}).get("status", "?"),
    ]


def _precedence(obj: JSONObject) -> tuple[int, str]:
    return cells.count(cells.part(obj, "spec"), "matchingPrecedence"), cells.name_of(obj)


def _priority_level(obj: JSONObject, now: float) -> list[Any]:
    spec = cells.part(obj, "spec")
    limited = cells.part(spec, "limited")
    queuing = cells.part(limited, "limitResponse", "queuing")
    return [
        cells.name_of(obj),
        spec.get("type", ""),
        limited.get("nominalConcurrencyShares", cells.NONE),
        *(queuing.get(field, cells.NONE) for field in ("queues", "handSize", "queueLengthLimit")),
        cells.age(obj, now),
    ]


def _api_service(obj: JSONObject, now: float) -> list[Any]:
    service = cells.part(obj, "spec").get("service")
    where = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    available = cells.condition(obj, "Available")
    status = "Unknown"
    if available is not None:
        status = available.get("status", "")
        if status != "True" and available.get("reason"):
            status += f" ({available['reason']})"
    return [cells.name_of(obj), where, status, cells.age(obj, now)]


_BINDING = columns("Name", "Role", "Age", "+Users", "+Groups", "+ServiceAccounts")
_WEBHOOKS = columns("Name", "Webhooks:integer", "Age")
_ADMISSION = "admissionregistration.k8s.io"
_PARAMETERS = columns("Name", "PolicyName", "ParamRef", "Age")

PRINTERS: Printers = {
    ("rbac.authorization.k8s.io", "rolebindings"): Printer(_BINDING, _binding),
    ("rbac.authorization.k8s.io", "clusterrolebindings"): Printer(_BINDING, _binding),
    (_ADMISSION, "mutatingwebhookconfigurations"): Printer(_WEBHOOKS, _webhooks),
    (_ADMISSION, "validatingwebhookconfigurations"): Printer(_WEBHOOKS, _webhooks),
    (_ADMISSION, "validatingadmissionpolicies"): Printer(
        columns("Name", "Validations:integer", "ParamKind", "Age"), _admission_policy
    ),
    (_ADMISSION, "mutatingadmissionpolicies"): Printer(
        columns("Name", "Mutations:integer", "ParamKind", "Age"), _admission_policy
    ),
    (_ADMISSION, "validatingadmissionpolicybindings"): Printer(_PARAMETERS, _admission_binding),
    (_ADMISSION, "mutatingadmissionpolicybindings"): Printer(_PARAMETERS, _admission_binding),
    ("policy", "poddisruptionbudgets"): Printer(
        columns("Name", "Min Available", "Max Unavailable", "Allowed Disruptions:integer", "Age"), _disruption_budget
    ),
    ("scheduling.k8s.io", "priorityclasses"): Printer(
        columns("Name", "Value:integer", "Global-Default:boolean", "Age", "PreemptionPolicy"), _priority_class
    ),
    ("node.k8s.io", "runtimeclasses"): Printer(columns("Name", "Handler", "Age"), _runtime_class),
    ("coordination.k8s.io", "leases"): Printer(columns("Name", "Holder", "Age"), _lease),
    ("certificates.k8s.io", "certificatesigningrequests"): Printer(
        columns("Name", "Age", "SignerName", "Requestor", "RequestedDuration", "Condition"), _signing_request
    ),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): Printer(
        columns("Name", "PriorityLevel", "MatchingPrecedence", "DistinguisherMethod", "Age", "MissingPL"),
        _flow_schema,
        order=_precedence,
    ),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): Printer(
        columns("Name", "Type", "NominalConcurrencyShares", "Queues", "HandSize", "QueueLengthLimit", "Age"),
        _priority_level,
    ),
    ("apiregistration.k8s.io", "apiservices"): Printer(columns("Name", "Service", "Available", "Age"), _api_service),
}
