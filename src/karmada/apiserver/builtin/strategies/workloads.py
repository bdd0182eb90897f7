"""Rules of the other workloads: ReplicaSets, ReplicationControllers, StatefulSets, DaemonSets, PodTemplates and
ControllerRevisions."""

from karmada.api import name_rules
from karmada.api.field_errors import forbidden, invalid, required
from karmada.apiserver.builtin.strategies import statuses
from karmada.apiserver.builtin.strategies.claim_specs import claim_spec_errors
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    at_most_all,
    count_or_percent,
    dns_label,
    immutable,
    is_zero,
    non_negative,
    strategy,
    template_selector,
    unsupported,
)
from karmada.apiserver.builtin.strategies.pod_validation import always_restarts, template_errors
from karmada.apiserver.builtin.strategies.pod_warnings import claim_warnings, of_template
from karmada.apiserver.builtin.strategies.pods import default_template
from karmada.apiserver.selectable import ValueAt

_GENERATION = "deprecated.daemonset.template.generation"
_LABELS = "spec.template.metadata.labels"


def _default_replica_set(obj: JSONObject) -> None:
    spec = obj["spec"]
    default_template(spec["template"])
    spec.setdefault("replicas", 1)


def _with_claimed_volumes(spec: JSONObject, new: bool) -> JSONObject:
    """The spec with a volume per claim template: that is what containers may mount.

    Templates of what exists cannot change: there, one without a name is nothing to complain about again.
    """
    found = [(claim.get("metadata") or {}).get("name") or "" for claim in spec.get("volumeClaimTemplates") or ()]
    claims = [name for name in found if name or new]
    if not claims:
        return spec
    template, pod = spec["template"], spec["template"]["spec"]
    given = [volume for volume in pod.get("volumes") or () if volume.get("name") not in claims]
    claimed = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    return {**spec, "template": {**template, "spec": {**pod, "volumes": given + claimed}}}


def _template(spec: JSONObject, kind: str, old: JSONObject | None) -> Errors:
    errors = template_errors(spec["template"], "spec.template", old["spec"].get("template") if old else None)
    return errors + always_restarts(spec["template"]["spec"], "spec.template.spec", kind)


def _validate_replica_set(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    labels = spec["template"]["metadata"].get("labels")
    errors = non_negative("spec.replicas", spec.get("replicas"))
    errors += non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    errors += template_selector(spec.get("selector"), labels, "spec.selector", _LABELS, "replicaset")
    errors += _template(spec, "ReplicaSet", old)
    if old is not None:
        errors += immutable("spec.selector", spec.get("selector"), old["spec"].get("selector"))
    return errors


def _default_replication_controller(obj: JSONObject) -> None:
    spec = obj["spec"]
    spec.setdefault("replicas", 1)
    template = spec.get("template")
    if template is None:
        return
    default_template(template)
    labels = template["metadata"].get("labels")
    if labels:
        spec.setdefault("selector", {**labels})
        obj["metadata"].setdefault("labels", {**labels})


def _validate_replication_controller(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors = non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    errors += non_negative("spec.replicas", spec.get("replicas"))
    wanted = spec.get("selector") or {}
    if not wanted:
        errors.append(required("spec.selector"))
    template = spec.get("template")
    if template is None:
        return [*errors, required("spec.template")]
    labels = template["metadata"].get("labels")
    if any((labels or {}).get(key) != value for key, value in wanted.items()):
        errors.append(invalid(_LABELS, labels, "`selector` does not match template `labels`"))
    return errors + _template(spec, "ReplicationController", old)


def _default_stateful_set(obj: JSONObject) -> None:
    spec = obj["spec"]
    default_template(spec["template"])
    spec.setdefault("podManagementPolicy", "OrderedReady")
    update = spec["updateStrategy"]
    update.setdefault("type", "RollingUpdate")
    if update["type"] == "RollingUpdate":
        update.setdefault("rollingUpdate", {}).setdefault("partition", 0)
    (update.get("rollingUpdate") or {}).pop("maxUnavailable", None)  # of a feature that is off
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    for claim in spec.get("volumeClaimTemplates") or ():
        claim.update({"kind": "PersistentVolumeClaim", "apiVersion": "v1"})
        claim["spec"].setdefault("volumeMode", "Filesystem")
        claim["status"].setdefault("phase", "Pending")


_STATEFUL_CHANGES = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_STATEFUL_FREE = frozenset(
    (
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    )
)


def _validate_stateful_set(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    labels = spec["template"]["metadata"].get("labels")
    errors: Errors = []
    if spec.get("serviceName") and old is None:
        errors += dns_label("spec.serviceName", spec["serviceName"])
    if spec["podManagementPolicy"] not in ("OrderedReady", "Parallel"):
        text = "must be 'OrderedReady' or 'Parallel'"
        errors.append(invalid("spec.podManagementPolicy", spec["podManagementPolicy"], text))
    update = spec["updateStrategy"]
    if update["type"] not in ("OnDelete", "RollingUpdate"):
        text = "must be 'RollingUpdate' or 'OnDelete'"
        rolling = update.get("rollingUpdate")
        if rolling is not None:
            rolling = {"Partition": rolling.get("partition"), "MaxUnavailable": rolling.get("maxUnavailable")}
        errors.append(invalid("spec.updateStrategy", {"Type": update["type"], "RollingUpdate": rolling}, text))
    elif update["type"] == "OnDelete" and "rollingUpdate" in update:
        text = "only allowed for updateStrategy 'RollingUpdate'"
        errors.append(invalid("spec.updateStrategy.rollingUpdate", update["rollingUpdate"], text))
    partition = (update.get("rollingUpdate") or {}).get("partition")
    errors += non_negative("spec.updateStrategy.rollingUpdate.partition", partition)
    if old is None:
        for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            errors += claim_spec_errors(claim["spec"], f"spec.volumeClaimTemplates[{index}].spec")
    errors += non_negative("spec.replicas", spec.get("replicas"))
    errors += non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    errors += non_negative("spec.ordinals.start", (spec.get("ordinals") or {}).get("start"))
    errors += template_selector(spec.get("selector"), labels, "spec.selector", _LABELS, "statefulset")
    errors += _template(_with_claimed_volumes(spec, old is None), "StatefulSet", old)
    for word in ("whenDeleted", "whenScaled"):
        place = f"spec.persistentVolumeClaimRetentionPolicy.{word}"
        found = spec["persistentVolumeClaimRetentionPolicy"][word]
        if found not in ("Retain", "Delete"):
            errors.append(unsupported(place, found, ("Retain", "Delete")))
    if old is not None:
        fixed = {key: value for key, value in spec.items() if key not in _STATEFUL_FREE}
        if fixed != {key: value for key, value in old["spec"].items() if key not in _STATEFUL_FREE}:
            errors.append(forbidden("spec", _STATEFUL_CHANGES))
    return errors


def _default_daemon_set(obj: JSONObject) -> None:
    spec = obj["spec"]
    default_template(spec["template"])
    update = spec["updateStrategy"]
    update.setdefault("type", "RollingUpdate")
    if update["type"] == "RollingUpdate":
        rolling = update.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    annotations = obj["metadata"].get("annotations") or {}
    obj["metadata"]["annotations"] = {_GENERATION: "0", **annotations}


def _create_daemon_set(obj: JSONObject) -> None:
    annotations = obj["metadata"].get("annotations") or {}
    obj["metadata"]["annotations"] = {**annotations, _GENERATION: "1"}


def _update_daemon_set(obj: JSONObject, old: JSONObject) -> None:
    """The template's generation counts its changes in an annotation that old clients read."""
    generation = int((old["metadata"].get("annotations") or {}).get(_GENERATION, "0") or 0)
    if obj["spec"]["template"] != old["spec"]["template"]:
        generation += 1
    annotations = obj["metadata"].get("annotations") or {}
    obj["metadata"]["annotations"] = {**annotations, _GENERATION: str(generation)}


def _validate_daemon_set(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    labels = spec["template"]["metadata"].get("labels")
    errors = template_selector(spec.get("selector"), labels, "spec.selector", _LABELS, "daemonset")
    errors += _template(spec, "DaemonSet", old)
    errors += non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    errors += non_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    update = spec["updateStrategy"]
    if update["type"] == "RollingUpdate":
        errors += _daemon_rolling(update.get("rollingUpdate") or {})
    elif update["type"] != "OnDelete":
        rolling = update.get("rollingUpdate")
        if rolling is not None:
            rolling = {"MaxUnavailable": rolling.get("maxUnavailable"), "MaxSurge": rolling.get("maxSurge")}
        shown = {"Type": update["type"], "RollingUpdate": rolling}
        errors.append(unsupported("spec.updateStrategy", shown, ("RollingUpdate", "OnDelete")))
    if old is not None:
        errors += immutable("spec.selector", spec.get("selector"), old["spec"].get("selector"))
    return errors


def _daemon_rolling(rolling: JSONObject) -> Errors:
    path = "spec.updateStrategy.rollingUpdate"
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    errors = count_or_percent(f"{path}.maxUnavailable", unavailable) + count_or_percent(f"{path}.maxSurge", surge)
    errors += at_most_all(f"{path}.maxUnavailable", unavailable) + at_most_all(f"{path}.maxSurge", surge)
    if not errors and is_zero(unavailable) and is_zero(surge):
        errors.append(required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    elif not errors and not is_zero(unavailable) and not is_zero(surge):
        errors.append(invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    return errors


def _validate_pod_template(obj: JSONObject, old: JSONObject | None) -> Errors:
    return template_errors(obj["template"], "template")


def _validate_revision(obj: JSONObject, old: JSONObject | None) -> Errors:
    errors = non_negative("revision", obj.get("revision"))
    data = obj.get("data")
    if not isinstance(data, dict) and (old is None or data is not None):
        errors.append(required("data", "data is mandatory" if data is None else "data must be a valid JSON object"))
    if old is not None:
        errors += immutable("data", obj.get("data"), old.get("data"))
    return errors


def _claims_and_history(obj: JSONObject, old: JSONObject | None) -> list[str]:
    spec = obj["spec"]
    texts = []
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        place = f"spec.volumeClaimTemplates[{index}]{'' if old is None else '.Spec'}"
        texts += claim_warnings(claim.get("spec") or {}, place)
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        text = "a negative value retains all historical revisions; a value >= 0 is recommended"
        texts.append(f"spec.revisionHistoryLimit: {text}")
    return texts


REPLICA_SET = strategy(
    _default_replica_set,
    _validate_replica_set,
    warnings=of_template("spec", "template", named=True),
    generation=True,
    validate_status=statuses.REPLICA_SET,
)
REPLICATION_CONTROLLER = strategy(
    _default_replication_controller,
    _validate_replication_controller,
    warnings=of_template("spec", "template", named=True),
    generation=True,
    selectable={"status.replicas": ValueAt("status.replicas", "0")},
    validate_status=statuses.REPLICA_SET,
)
STATEFUL_SET = strategy(
    _default_stateful_set,
    _validate_stateful_set,
    name=name_rules.dns_label,
    warnings=of_template("spec", "template", more=_claims_and_history),
    generation=True,
    validate_status=statuses.STATEFUL_SET,
)
DAEMON_SET = strategy(
    _default_daemon_set,
    _validate_daemon_set,
    warnings=of_template("spec", "template"),
    generation=True,
    prepare_create=_create_daemon_set,
    prepare_update=_update_daemon_set,
    prepare_status=_update_daemon_set,
    validate_status=statuses.DAEMON_SET,
)
POD_TEMPLATE = strategy(
    lambda obj: default_template(obj["template"]),
    _validate_pod_template,
    generation=True,
    warnings=of_template("template"),
)
CONTROLLER_REVISION = strategy(validate=_validate_revision)
