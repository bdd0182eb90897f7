"""Rules of Pods."""

from karmada.api.field_errors import forbidden, invalid
from karmada.api.quantity import Quantity
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    strategy,
)
from karmada.apiserver.builtin.strategies.pod_status import prepare_status, status_errors, twin_addresses
from karmada.apiserver.builtin.strategies.pod_updates import annotation_errors, unplaced_mirror, update_errors
from karmada.apiserver.builtin.strategies.pod_validation import spec_errors
from karmada.apiserver.builtin.strategies.pod_warnings import of_pod
from karmada.apiserver.builtin.strategies.pods import default_pod
from karmada.apiserver.selectable import ValueAt, fields


def _prepare_create(pod: JSONObject) -> None:
    spec = pod["spec"]
    pod["status"] = {"phase": "Pending", "qosClass": quality_of_service(spec)}
    if spec.get("schedulingGates"):
        pod["status"]["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": pod["metadata"].get("creationTimestamp"),
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]


def quality_of_service(spec: JSONObject) -> str:
    """Guaranteed, Burstable or BestEffort, by requests and limits of cpu and memory."""
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    guaranteed = True
    whole = [{"resources": spec["resources"]}] if spec.get("resources") is not None else None
    for container in whole or [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        resources = container.get("resources") or {}
        for wanted, total in ((resources.get("requests"), requests), (resources.get("limits"), limits)):
            for name in ("cpu", "memory"):
                amount = Quantity.parse((wanted or {}).get(name, "0"))
                if amount.unscaled > 0:
                    total[name] = total[name] + amount if name in total else amount
        own = resources.get("limits") or {}
        guaranteed = guaranteed and all(Quantity.parse(own.get(name, "0")).unscaled > 0 for name in ("cpu", "memory"))
    if not requests and not limits:
        return "BestEffort"
    same = all(name in limits and limits[name] == amount for name, amount in requests.items())
    return "Guaranteed" if guaranteed and same and len(requests) == len(limits) else "Burstable"


def _images(spec: JSONObject) -> Errors:
    """Templates may have spaces around an image for the sake of old ones."""
    return [
        invalid(f"spec.{field}[{index}].image", image, "must not have leading or trailing whitespace")
        for field in ("initContainers", "containers")
        for index, container in enumerate(spec.get(field) or ())
        if (image := container.get("image") or "") != image.strip()
    ]


def _validate(pod: JSONObject, old: JSONObject | None) -> Errors:
    errors = unplaced_mirror(pod) + spec_errors(pod["spec"], "spec", pod["metadata"]) + _images(pod["spec"])
    if old is None:
        if pod["spec"].get("ephemeralContainers"):
            errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
        if pod["spec"].get("nodeName") and pod["spec"].get("schedulingGates"):
            errors.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
        return errors + _projected_tokens(pod["spec"])
    return errors + annotation_errors(pod, old) + update_errors(pod["spec"], old["spec"])


def _projected_tokens(spec: JSONObject) -> Errors:
    if spec.get("serviceAccountName"):
        return []
    errors: Errors = []
    for index, volume in enumerate(spec.get("volumes") or ()):
        for at, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if "serviceAccountToken" in source:
                place = f"spec.volumes[{index}].projected.sources[{at}].serviceAccountToken"
                errors.append(forbidden(place, "must not be specified when serviceAccountName is not set"))
    return errors


def _default(pod: JSONObject) -> None:
    default_pod(pod)
    twin_addresses(pod)


def _first_address(pod: JSONObject) -> str:
    status = pod.get("status") or {}
    addresses = status.get("podIPs") or ()
    return str((addresses[0].get("ip") if addresses else status.get("podIP")) or "")


def _no_addresses(pod: JSONObject) -> str:
    """Clients may select by all addresses together, which Kubernetes does not fill in."""
    return ""


STRATEGY = strategy(
    _default,
    _validate,
    generation=True,
    prepare_create=_prepare_create,
    prepare_status=prepare_status,
    validate_status=status_errors,
    reads_annotations=True,
    graceful_seconds=lambda pod: int((pod.get("spec") or {}).get("terminationGracePeriodSeconds") or 0),
    selectable={
        **fields(
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.phase",
            "status.nominatedNodeName",
        ),
        "spec.hostNetwork": ValueAt("spec.hostNetwork", "false"),
        "status.podIP": _first_address,
        "status.podIPs": _no_addresses,
    },
    selected_as={"spec.host": "spec.nodeName"},
    warnings=of_pod,
)
