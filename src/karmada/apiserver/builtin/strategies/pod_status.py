"""Rules of the status of Pods: addresses, states of containers, conditions."""

import ipaddress
from collections.abc import Iterator
from typing import Any

from karmada.api.field_errors import FieldError, duplicate, forbidden, invalid
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    dns_subdomain,
    immutable,
    ip_address,
    one_of,
    qualified_name,
)
from karmada.apiserver.builtin.strategies.extended_claims import extended_claim

_STATUSES = (
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", "ephemeralContainers"),
)
_MOST_ID = 2**31 - 1


def twin_addresses(pod: JSONObject) -> None:
    """`podIP` is the first of `podIPs`; where they differ, old reporters know only the former."""
    status = pod.get("status")
    if not status:
        return
    first, addresses = status.get("podIP") or "", status.get("podIPs") or []
    if first and (not addresses or addresses[0].get("ip") != first):
        status["podIPs"] = [{"ip": first}]
    elif addresses and addresses[0].get("ip"):
        status["podIP"] = addresses[0]["ip"]


def prepare_status(pod: JSONObject, old: JSONObject) -> None:
    """What is fixed when a pod is made, or never goes back, may be left out by whoever reports its status."""
    before = old.get("status") or {}
    status = pod.setdefault("status", {})
    status.pop("nodeAllocatableResourceClaimStatuses", None)  # of a feature that is no stable part of the API
    for field in ("qosClass", "observedGeneration"):
        if before.get(field) and not status.get(field):
            status[field] = before[field]
    generations: dict[str, list[Any]] = {}
    for condition in before.get("conditions") or ():
        generations.setdefault(condition.get("type") or "", []).append(condition.get("observedGeneration"))
    for condition in status.get("conditions") or ():
        known = generations.get(condition.get("type") or "")
        generation = known.pop(0) if known else None
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


def status_errors(pod: JSONObject, old: JSONObject | None) -> Errors:
    """What is wrong with a reported status."""
    status, before = pod.get("status") or {}, (old or {}).get("status") or {}
    spec = pod["spec"]
    errors = _conditions(status.get("conditions") or [])
    nominated = status.get("nominatedNodeName")
    if nominated and nominated != before.get("nominatedNodeName"):
        errors += dns_subdomain("status.nominatedNodeName", nominated)
        if spec.get("nodeName"):
            text = "may not be set on pods that are already bound to a node"
            errors.append(forbidden("status.nominatedNodeName", text))
    if (status.get("observedGeneration") or 0) < 0:
        text = "must be a non-negative integer"
        errors.append(invalid("status.observedGeneration", status["observedGeneration"], text))
    errors += immutable("status.qosClass", status.get("qosClass"), before.get("qosClass"))
    for field, containers in _STATUSES:
        errors += _transitions(status.get(field) or [], before.get(field) or [], f"status.{field}", spec, containers)
    errors += _claims(status.get("resourceClaimStatuses") or [], spec)
    errors += extended_claim(status.get("extendedResourceClaimStatus"), spec)
    errors += _addresses(status, before, "podIPs") + _host_addresses(status, before)
    for field, _ in _STATUSES:
        errors += _users(status.get(field) or [], f"status.{field}", spec)
    for field, containers in _STATUSES[:2]:
        errors += _allocated(status.get(field) or [], f"status.{field}", spec.get(containers) or [])
    for index, one in enumerate(status.get("ephemeralContainerStatuses") or ()):
        if one.get("allocatedResourcesStatus"):
            place = f"status.ephemeralContainerStatuses[{index}].allocatedResourcesStatus"
            errors.append(forbidden(place, "must not be specified in container status"))
    return errors


def _conditions(conditions: list[JSONObject]) -> Errors:
    errors: Errors = []
    for index, condition in enumerate(conditions):
        generation = condition.get("observedGeneration") or 0
        if generation < 0:
            place = f"status.conditions[{index}].observedGeneration"
            errors.append(invalid(place, generation, "must be a non-negative integer"))
        errors += qualified_name(f"status.conditions[{index}].Type", condition.get("type") or "")
    return errors


def _addresses(status: JSONObject, before: JSONObject, field: str) -> Errors:
    """Addresses are valid, or were there before; of each family there is at most one."""
    known = {one.get("ip") for one in before.get(field) or ()}
    found = [one.get("ip") or "" for one in status.get(field) or ()]
    errors: Errors = []
    for index, address in enumerate(found):
        if address not in known:
            errors += ip_address(f"status.{field}[{index}]", address)
    if len(found) > 1:
        wrong = next((index for index, address in enumerate(found) if ip_address("", address)), None)
        if wrong is not None:
            text = f"Internal error: failed to check for dual stack with error:invalid IP[{wrong}]: {found[wrong]}"
            errors.append(FieldError("InternalError", f"status.{field}", text))
        if wrong is not None or len({ipaddress.ip_address(one).version for one in found}) < 2 or len(found) > 2:
            shown = [{"IP": address} for address in found]
            errors.append(invalid(f"status.{field}", shown, "may specify no more than one IP for each IP family"))
    return errors


def _host_addresses(status: JSONObject, before: JSONObject) -> Errors:
    addresses = status.get("hostIPs") or []
    errors: Errors = []
    if addresses and (status.get("hostIP") or "") != (addresses[0].get("ip") or ""):
        first = addresses[0].get("ip") or ""
        errors.append(invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`"))
    return errors + _addresses(status, before, "hostIPs")


def _transitions(
    new: list[JSONObject], old: list[JSONObject], path: str, spec: JSONObject, containers: str
) -> Iterator[FieldError]:
    """A container that ended for good does not run again."""
    declared = {one.get("name"): one for one in spec.get(containers) or ()}
    if containers != "ephemeralContainers" and _may_restart_all(spec):
        return
    reported: dict[Any, JSONObject] = {}
    for one in new:
        reported.setdefault(one.get("name"), one)
    for index, before in enumerate(old):
        ended = (before.get("state") or {}).get("terminated")
        if ended is None:
            continue
        after = reported.get(before.get("name"))
        if after is None or (after.get("state") or {}).get("terminated") is not None:
            continue
        container = declared.get(before.get("name"))
        restarts = containers != "ephemeralContainers" and container is not None
        if not (restarts and container is not None and _restarts(container, spec, ended.get("exitCode") or 0)):
            yield forbidden(f"{path}[{index}].state", "may not be transitioned to non-terminated state")


def _may_restart_all(spec: JSONObject) -> bool:
    return any(
        rule.get("action") == "RestartAllContainers"
        for field in ("containers", "initContainers")
        for container in spec.get(field) or ()
        for rule in container.get("restartPolicyRules") or ()
    )


def _restarts(container: JSONObject, spec: JSONObject, code: int) -> bool:
    policy = container.get("restartPolicy")
    if policy:
        for rule in container.get("restartPolicyRules") or ():
            codes = rule.get("exitCodes") or {}
            if (code in (codes.get("values") or ())) is (codes.get("operator") == "In"):
                return True
    policy = policy or spec.get("restartPolicy") or "Always"
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _claims(statuses: list[JSONObject], spec: JSONObject) -> Errors:
    names = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    errors: Errors = []
    seen: set[str] = set()
    for index, status in enumerate(statuses):
        path, name = f"status.resourceClaimStatuses[{index}]", status.get("name") or ""
        if name not in names:
            text = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(invalid(f"{path}.name", name, text))
        if name in seen:
            errors.append(duplicate(f"{path}.name", name))
        seen.add(name)
        if status.get("resourceClaimName") is not None:
            errors += dns_subdomain(f"{path}.resourceClaimName", status["resourceClaimName"])
    return errors


def _users(statuses: list[JSONObject], path: str, spec: JSONObject) -> Errors:
    windows = (spec.get("os") or {}).get("name") == "windows"
    errors: Errors = []
    for index, status in enumerate(statuses):
        user = (status.get("user") or {}).get("linux")
        place = f"{path}[{index}].user.linux"
        if user is None:
            continue
        if windows:
            errors.append(forbidden(place, "cannot be set for a windows pod"))
            continue
        groups = user.get("supplementalGroups") or ()
        ids = [("uid", user.get("uid") or 0), ("gid", user.get("gid") or 0)]
        ids += [(f"supplementalGroups[{at}]", group) for at, group in enumerate(groups)]
        for field, number in ids:
            if not 0 <= number <= _MOST_ID:
                text = f"must be between 0 and {_MOST_ID}, inclusive"
                errors.append(invalid(f"{place}.{field}", number, text))
    return errors


def _allocated(statuses: list[JSONObject], path: str, containers: list[JSONObject]) -> Errors:
    declared = {one.get("name"): _allocatable(one.get("resources") or {}) for one in containers}
    errors: Errors = []
    for index, status in enumerate(statuses):
        names = declared.get(status.get("name"))
        for at, entry in enumerate(status.get("allocatedResourcesStatus") or ()):
            place = f"{path}[{index}].allocatedResourcesStatus[{at}]"
            if names is not None:
                errors += _allocated_name(entry.get("name") or "", f"{place}.name", names)
            seen: set[Any] = set()
            for number, one in enumerate(entry.get("resources") or ()):
                inside = f"{place}.resources[{number}]"
                errors += one_of(f"{inside}.health", one.get("health") or "", ("Healthy", "Unhealthy", "Unknown"))
                if one.get("resourceID") in seen:
                    errors.append(duplicate(f"{inside}.resourceID", one.get("resourceID") or ""))
                seen.add(one.get("resourceID"))
    return errors


def _allocatable(resources: JSONObject) -> set[str]:
    """What a container's status may speak of: resources that it requests, and its claims."""
    names = {name for name in resources.get("requests") or () if not name.startswith("claim:")}
    for claim in resources.get("claims") or ():
        request = claim.get("request")
        names.add(f"claim:{claim.get('name')}" + (f"/{request}" if request else ""))
    return names


def _allocated_name(name: str, field: str, names: set[str]) -> Errors:
    if name in names:
        return []
    if not name.startswith("claim:"):
        return [invalid(field, name, "must match one of the container's resource requests")]
    text = (
        "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when "
        "container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"
    )
    return [invalid(field, name, text)]
