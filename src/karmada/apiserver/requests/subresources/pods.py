"""Subresources of pods that change them: binding to a node, eviction, ephemeral containers, resize."""

import orjson

from karmada.api import label_selector
from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.builtin.catalog import definition_name
from karmada.apiserver.failures import conflict, not_found
from karmada.apiserver.managedfields import track_update
from karmada.apiserver.requests import metadata, reading
from karmada.apiserver.requests.delete import delete_object
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.requests.options import WriteOptions, delete_options, write_options
from karmada.apiserver.requests.subresources import own_kind
from karmada.apiserver.requests.update import Change, Part, changed
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.schema.definitions import definition
from karmada.apiserver.served_resource import Served
from karmada.apiserver.watchcache import Kind
from karmada.machinery.clock import rfc3339
from karmada.machinery.httpserver.failure import Failure, bad_request

_BINDING = ("", "v1", "Binding")
_EVICTION = ("policy", "v1", "Eviction")
_BUDGETS: Kind = ("policy", "poddisruptionbudgets")
_TOO_MANY = "Cannot evict pod as it would violate the pod's disruption budget."


async def bind(context: Context, call: Call) -> Answer:
    """`pods/binding`: put the pod on a node."""
    options = write_options(dict(call.params), "CreateOptions")
    body = await own_kind.body(call, _BINDING, options.field_validation)
    metadata.check_namespace(call, body["metadata"])
    name = call.name or body["metadata"].get("name") or ""
    if not name:
        raise bad_request("Name parameter required.")
    if body["metadata"].get("name") != name:
        raise bad_request("name in URL does not match name in Binding object")
    target = body.get("target") or {}
    _check_target(target)
    node = target["name"]
    await _admit(context, call, body, _BINDING, options)
    where = Call("update", _pods(context), call.user, call.namespace, name, agent=call.agent)
    # The uid of a binding at its older place, beside the pods, is its own.
    guard = body["metadata"] if call.subresource else {**body["metadata"], "uid": ""}

    def build(pod: JSONObject) -> JSONObject:
        spec = pod.setdefault("spec", {})
        if why := _unmet(context, where, pod["metadata"], guard):
            raise conflict("", "pods", name, why)
        if "deletionTimestamp" in pod["metadata"]:
            raise conflict("", "pods/binding", name, f"pod {name} is being deleted, cannot be assigned to a host")
        if spec.get("nodeName"):
            why = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
            raise conflict("", "pods/binding", name, why)
        if spec.get("schedulingGates"):
            raise conflict("", "pods/binding", name, f"pod {name} has non-empty .spec.schedulingGates")
        spec["nodeName"] = node
        for field in ("annotations", "labels"):
            if given := body["metadata"].get(field):
                pod["metadata"][field] = {**(pod["metadata"].get(field) or {}), **given}
        status = pod.setdefault("status", {})
        conditions = [item for item in status.get("conditions") or () if item["type"] != "PodScheduled"]
        scheduled = {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": rfc3339(context.now()),
        }
        status["conditions"] = [*conditions, scheduled]
        return pod

    await changed(context, Change(where, options, build, Part.OTHER, managed=True, admitted=True))
    return _success()


def _unmet(context: Context, call: Call, pod: JSONObject, given: JSONObject) -> str:
    """Which version or identity of the pod, named in a binding's metadata, is not the present one."""
    where = f"{context.key_prefix}/pods/{call.namespace}/{call.name}"
    for field, word in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        wanted = given.get(field)
        if wanted and wanted != pod.get(field):
            text = f"Precondition failed: {word} in precondition: {wanted}, {word} in object meta: {pod.get(field)}"
            return (
                f"StorageError: invalid object, Code: 4, Key: {where}, ResourceVersion: 0, AdditionalErrorMsg: {text}"
            )
    return ""


def _check_target(target: JSONObject) -> None:
    errors = []
    if target.get("kind") not in (None, "", "Node"):
        errors.append(f'target.kind: Unsupported value: "{target["kind"]}": supported values: "Node", "<empty>"')
    if not target.get("name"):
        errors.append("target.name: Required value")
    if errors:
        raise Failure(500, "", errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")


def _pods(context: Context) -> Served:
    served = context.catalog.find("", "v1", "pods")
    assert served is not None
    return served


def _budgets(context: Context) -> Served:
    served = context.catalog.find("policy", "v1", "poddisruptionbudgets")
    assert served is not None
    return served


async def evict(context: Context, call: Call) -> Answer:
    """`pods/eviction`: delete the pod unless a disruption budget forbids it."""
    write = write_options(dict(call.params), "CreateOptions")
    body = await own_kind.body(call, _EVICTION, write.field_validation)
    meta = body["metadata"]
    if meta.get("name") != call.name:
        raise bad_request("name in URL does not match name in Eviction object")
    options = delete_options({}, body.get("deleteOptions"))
    if write.dry_run:
        options = options._replace(dry_run=True)
    item = context.store.get(call.served.key, call.namespace, call.name)
    if item is None:
        raise not_found("", "pods", call.name)
    pod = await reading.decoded(call.served, item.body)
    await _admit(context, call, body, _EVICTION, write)
    if not _is_free(pod):
        await _charge(context, call, pod, options.dry_run)
    target = Call("delete", call.served, call.user, call.namespace, call.name, agent=call.agent, warnings=call.warnings)
    fits = options.uid in ("", item.index.uid) and not options.resource_version and not options.dry_run
    if fits and ((pod.get("spec") or {}).get("nodeName") or pod["metadata"].get("finalizers")):
        await _note(context, call)  # the pod stays for a while, and whoever sees it learns why it ends
    await delete_object(context, target, options)
    return _success()


async def _note(context: Context, call: Call) -> None:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": rfc3339(context.now()),
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }

    def build(pod: JSONObject) -> JSONObject:
        status = pod.setdefault("status", {})
        others = [one for one in status.get("conditions") or () if one["type"] != condition["type"]]
        status["conditions"] = [*others, condition]
        return pod

    where = Call("update", call.served, call.user, call.namespace, call.name, "status", agent=call.agent)
    await changed(context, Change(where, WriteOptions(), build, Part.STATUS, admitted=True))


def _is_free(pod: JSONObject) -> bool:
    """Pods that are done, waiting or ending anyway do not count against budgets."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in pod["metadata"]


async def _charge(context: Context, call: Call, pod: JSONObject, dry_run: bool) -> None:
    labels = pod["metadata"].get("labels") or {}
    budgets = []
    for budget in await reading.objects(_budgets(context), context.store.list(_BUDGETS, call.namespace).items):
        selector = (budget.get("spec") or {}).get("selector")
        if selector is not None and label_selector.from_json(selector).matches(labels):
            budgets.append(budget)
    if not budgets:
        return
    if len(budgets) > 1:
        raise Failure(
            500,
            "InternalError",
            "Internal error occurred: This pod has more than one PodDisruptionBudget, "
            "which the eviction subresource does not support.",
        )
    await _take(context, call, budgets[0]["metadata"]["name"], dry_run)


async def _take(context: Context, call: Call, name: str, dry_run: bool) -> None:
    """Take one disruption from a budget's status."""

    def build(budget: JSONObject) -> JSONObject:
        status = budget.setdefault("status", {})
        generation = budget["metadata"].get("generation", 0)
        if status.get("observedGeneration", 0) < generation:
            raise _refused(f"The disruption budget {name} is still being processed by the server.", 10, [])
        allowed = status.get("disruptionsAllowed", 0)
        if allowed <= 0:
            healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
            text = f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
            raise _refused(_TOO_MANY, 0, [{"reason": "DisruptionBudget", "message": text}])
        status["disruptionsAllowed"] = allowed - 1
        disrupted = status.setdefault("disruptedPods", {})
        disrupted[call.name] = rfc3339(context.now())
        return budget

    target = Call("update", _budgets(context), call.user, call.namespace, name, "status", agent=call.agent)
    await changed(context, Change(target, WriteOptions(dry_run=dry_run), build, Part.STATUS))


def _refused(message: str, retry: int, causes: list[JSONObject]) -> Failure:
    details: JSONObject = {}
    if causes:
        details["causes"] = causes
    if retry:
        details["retryAfterSeconds"] = retry
    headers = {"Retry-After": str(retry)} if retry else {}
    return Failure(429, "TooManyRequests", message, details, headers)


async def _admit(
    context: Context, call: Call, body: JSONObject, kind: tuple[str, str, str], options: WriteOptions
) -> None:
    group, version, name = kind
    api_version = f"{group}/{version}" if group else version
    body = {"kind": name, "apiVersion": api_version, **body}
    body["metadata"] = {"name": call.name, "namespace": call.namespace, **body["metadata"]}
    # Nothing of it is stored, but whoever judges it may ask who owns what.
    schema = definition(definition_name(group, version, name))
    manager = call.manager(options.field_manager)
    track_update(None, body, schema, manager, api_version, call.subresource, rfc3339(context.now()))
    request = AdmissionRequest(
        Operation.CREATE,
        call.served.type,
        call.namespace,
        call.name,
        call.subresource,
        body,
        None,
        call.user,
        {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        options.dry_run,
        kind,
        call.warnings,
    )
    await context.admission.mutate(request)
    await context.admission.validate(request)


def _success() -> Answer:
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return Answer(201, orjson.dumps(body))
