"""Rules of the cluster IPs and IP families of Services."""

import ipaddress
from collections.abc import Iterator

from karmada.api.field_errors import FieldError, duplicate, invalid, required
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, ip_address, repeated, unsupported

_FAMILIES = ("IPv4", "IPv6")
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
FIXED = "may not change once set"


def is_headless(spec: JSONObject) -> bool:
    """Whether the service is without an address."""
    return bool(spec.get("clusterIPs") == ["None"])


def family_of(address: str) -> str:
    """The family of an address; old objects may have ones that nobody can read."""
    try:
        return f"IPv{ipaddress.ip_address(address).version}"
    except ValueError:
        return ""


def cluster_ip_errors(spec: JSONObject, old: JSONObject | None) -> Errors:
    """What is wrong with addresses and families of a service that has an address."""
    addresses: list[str] = spec.get("clusterIPs") or []
    families: list[str] = spec.get("ipFamilies") or []
    errors = _linked(spec.get("clusterIP") or "", addresses)
    again = set(repeated(families))
    for index, family in enumerate(families):
        if family not in _FAMILIES:
            errors.append(unsupported(f"spec.ipFamilies[{index}]", family, _FAMILIES))
        if index in again:
            errors.append(duplicate(f"spec.ipFamilies[{index}]", family))
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _POLICIES:
        errors.append(unsupported("spec.ipFamilyPolicy", policy, _POLICIES))
    unreadable = list(_unreadable(addresses, {*((old or {}).get("clusterIPs") or ())}))
    errors += unreadable
    if len(addresses) > 2:
        errors.append(invalid("spec.clusterIPs", addresses, "may only hold up to 2 values"))
    if unreadable or is_headless(spec):
        return errors
    found = [family_of(address) for address in addresses]
    if len(addresses) > 1 and len(set(found)) < 2:
        errors.append(invalid("spec.clusterIPs", addresses, "may specify no more than one IP for each IP family"))
    for index, (family, wanted) in enumerate(zip(found, families, strict=False)):
        if wanted in _FAMILIES and family != wanted:
            text = f"expected an {wanted} value as indicated by `ipFamilies[{index}]`"
            errors.append(invalid(f"spec.clusterIPs[{index}]", addresses[index], text))
    return errors


def _linked(first: str, addresses: list[str]) -> Errors:
    """`clusterIP` is the first of `clusterIPs`."""
    if not first:
        text = "must be empty when `clusterIP` is not specified"
        return [invalid("spec.clusterIPs", addresses, text)] if addresses else []
    if not addresses:
        return [required("spec.clusterIPs")]
    if addresses[0] != first:
        return [invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`")]
    return []


def _unreadable(addresses: list[str], known: set[str]) -> Iterator[FieldError]:
    for index, address in enumerate(addresses):
        if index == 0 and address == "None":
            if len(addresses) > 1:
                yield invalid("spec.clusterIPs", addresses, "'None' must be the first and only value")
        elif address not in known:
            yield from ip_address(f"spec.clusterIPs[{index}]", address)


def change_errors(spec: JSONObject, old: JSONObject) -> Errors:
    """Addresses and families stay as they are, but a second one may come and go."""
    if "ExternalName" in (spec["type"], old["type"]) or (is_headless(spec) and is_headless(old)):
        return []
    errors = _addresses_changed(spec, old)
    if not is_headless(spec) and not is_headless(old):
        errors += _families_changed(spec, old)
    return errors


def _addresses_changed(spec: JSONObject, old: JSONObject) -> Errors:
    before, after = old.get("clusterIPs") or [], spec.get("clusterIPs") or []
    if len(before) == len(after):
        places = [index for index, address in enumerate(before) if address != after[index]]
        error = invalid("", after, FIXED)
        return [error._replace(field=f"spec.clusterIPs[{index}]") for index in places]
    errors: Errors = []
    if not after:
        errors.append(invalid("spec.clusterIPs[0]", None, "primary clusterIP can not be unset"))
    elif before and after[0] != before[0]:
        errors.append(invalid("spec.clusterIPs[0]", after, FIXED))
    policy = spec.get("ipFamilyPolicy")
    if len(after) == 1 < len(before) and policy != "SingleStack":
        text = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        errors.append(invalid("spec.ipFamilyPolicy", policy, text))
    return errors


def _families_changed(spec: JSONObject, old: JSONObject) -> Errors:
    before, after = old.get("ipFamilies") or [], spec.get("ipFamilies") or []
    if len(before) == len(after):
        changed = sum(one != other for one, other in zip(before, after, strict=True))
        return [invalid("spec.ipFamilies[0]", after, FIXED)] * changed
    errors: Errors = []
    if before and after and before[0] != after[0]:
        errors.append(invalid("spec.ipFamilies[0]", spec.get("clusterIPs"), FIXED))
    policy = spec.get("ipFamilyPolicy")
    if len(after) == 1 < len(before) and policy != "SingleStack":
        text = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        errors.append(invalid("spec.ipFamilyPolicy", policy, text))
    return errors
