"""Rules of the status of ResourceClaims: what was allocated, who may use it, and how the devices are."""

import ipaddress
from typing import Any

from karmada.api.field_errors import duplicate, forbidden, invalid, required
from karmada.apiserver.builtin.strategies.common import IMMUTABLE, Errors, JSONObject, dns_label, one_of, repeated
from karmada.apiserver.builtin.strategies.conditions import conditions
from karmada.apiserver.builtin.strategies.devices import (
    MOST,
    driver,
    opaque,
    pool_name,
    references,
    request_names,
    too_long,
    too_many,
)
from karmada.apiserver.builtin.strategies.scheduling_rules import node_selector

_MOST_CONSUMERS, _MOST_CONDITIONS, _MOST_ADDRESSES = 256, 8, 16
_LONGEST_INTERFACE, _LONGEST_HARDWARE = 256, 128
_ADDRESS = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"


def prepare_claim_status(obj: JSONObject, old: JSONObject) -> None:
    """What is said of a device goes with its allocation."""
    status, before = obj.get("status") or {}, (old.get("status") or {}).get("allocation")
    if before is None or not status.get("devices"):
        return
    gone = _allocated(before) - _allocated(status.get("allocation"))
    kept = [device for device in status["devices"] if device_id(device) not in gone]
    if kept:
        status["devices"] = kept
    else:
        del status["devices"]


def validate_claim_status(obj: JSONObject, old: JSONObject | None) -> Errors:
    """The status of a claim."""
    status, before = obj.get("status") or {}, ((old or {}).get("status") or {})
    reserved, allocation = status.get("reservedFor") or [], status.get("allocation")
    errors = _consumers(reserved)
    errors += _devices(status.get("devices") or [], _allocated(allocation))
    if reserved and allocation is None:
        errors.append(forbidden("status.reservedFor", "may not be specified when `allocated` is not set"))
    elif "deletionTimestamp" in obj["metadata"]:
        known = before.get("reservedFor") or []
        if any(one not in known for one in reserved):
            text = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
            errors.append(forbidden("status.reservedFor", text))
    if allocation is None:
        return errors
    if before.get("allocation") is not None:
        same = allocation == before["allocation"]
        return errors if same else [*errors, invalid("status.allocation", allocation, IMMUTABLE)]
    return errors + _allocation(allocation, request_names((obj["spec"].get("devices") or {}).get("requests") or []))


def _consumers(reserved: list[JSONObject]) -> Errors:
    errors = too_many("status.reservedFor", reserved, _MOST_CONSUMERS)
    for index, consumer in enumerate(reserved):
        for field in ("resource", "name", "uid"):
            if not consumer.get(field):
                errors.append(required(f"status.reservedFor[{index}].{field}"))
    for index in repeated(consumer.get("uid") or "" for consumer in reserved):
        errors.append(duplicate(f"status.reservedFor[{index}]", reserved[index].get("uid") or ""))
    return errors


def device_id(device: JSONObject) -> tuple[Any, ...]:
    """Which device a result of an allocation, or an entry of a status, is about."""
    return tuple(device.get(field) or "" for field in ("driver", "pool", "device", "shareID"))


def _allocated(allocation: JSONObject | None) -> set[tuple[Any, ...]]:
    return {device_id(one) for one in ((allocation or {}).get("devices") or {}).get("results") or ()}


def _devices(devices: list[JSONObject], allocated: set[tuple[Any, ...]]) -> Errors:
    errors: Errors = []
    again = set(repeated(map(device_id, devices)))
    for index, device in enumerate(devices):
        place = f"status.devices[{index}]"
        errors += _identity(device, place)
        shown = "/".join(str(part) for part in device_id(device) if part)
        if device_id(device) not in allocated:
            errors.append(invalid(place, shown, "must be an allocated device in the claim"))
        given = device.get("conditions") or []
        errors += too_many(f"{place}.conditions", given, _MOST_CONDITIONS) + conditions(f"{place}.conditions", given)
        data = device.get("data")
        if data is not None and not isinstance(data, dict):
            errors.append(invalid(f"{place}.data", "<value omitted>", "must be a valid JSON object"))
        errors += _network(device.get("networkData") or {}, f"{place}.networkData")
        if index in again:
            errors.append(duplicate(place, shown))
    return errors


def _identity(device: JSONObject, place: str) -> Errors:
    errors = driver(f"{place}.driver", device.get("driver") or "")
    errors += pool_name(f"{place}.pool", device.get("pool") or "")
    return errors + dns_label(f"{place}.device", device.get("device"))


def _network(data: JSONObject, place: str) -> Errors:
    errors = too_long(f"{place}.interfaceName", data.get("interfaceName") or "", _LONGEST_INTERFACE)
    errors += too_long(f"{place}.hardwareAddress", data.get("hardwareAddress") or "", _LONGEST_HARDWARE)
    addresses = data.get("ips") or []
    errors += too_many(f"{place}.ips", addresses, _MOST_ADDRESSES)
    for index, address in enumerate(addresses):
        errors += _interface_address(address, f"{place}.ips[{index}]")
    return errors + [duplicate(f"{place}.ips[{index}]", addresses[index]) for index in repeated(addresses)]


def _interface_address(address: str, place: str) -> Errors:
    try:
        if "/" not in address:
            raise ValueError(address)
        read = ipaddress.ip_interface(address)
    except ValueError:
        return [invalid(place, address, _ADDRESS)]
    canonical = read.with_prefixlen
    return [] if address == canonical else [invalid(place, address, f'must be in canonical form ("{canonical}")')]


def _allocation(allocation: JSONObject, names: set[str]) -> Errors:
    devices, path = allocation.get("devices") or {}, "status.allocation.devices"
    results, configs = devices.get("results") or [], devices.get("config") or []
    errors = too_many(f"{path}.results", results)
    for index, result in enumerate(results[:MOST]):
        place = f"{path}.results[{index}]"
        errors += references([result.get("request") or ""], f"{place}.request", names, indexed=False)
        errors += _identity(result, place)
    errors += too_many(f"{path}.config", configs, 2 * MOST)
    for index, config in enumerate(configs[: 2 * MOST]):
        place, source = f"{path}.config[{index}]", config.get("source") or ""
        errors += (
            one_of(f"{place}.source", source, ("FromClaim", "FromClass")) if source else [required(f"{place}.source")]
        )
        errors += references(config.get("requests") or [], f"{place}.requests", names)
        errors += opaque(place, config)
    selector = allocation.get("nodeSelector")
    return errors + (node_selector("status.allocation.nodeSelector", selector) if selector is not None else [])
