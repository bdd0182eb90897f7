"""IP families of services: settled from what is asked for and what the cluster has, before addresses are allocated.

The cluster has one family, that of its service network.
"""

from karmada.api.field_errors import invalid
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject
from karmada.apiserver.builtin.strategies.service_ips import cluster_ip_errors, family_of

_OTHER = {"IPv4": "IPv6", "IPv6": "IPv4"}


def link_addresses(spec: JSONObject) -> None:
    """A new service that names one address names a list of one."""
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]


def keep_addresses(spec: JSONObject, old: JSONObject) -> None:
    """An update that does not mention the addresses keeps them; who sets only one of the linked fields means both."""
    if "ExternalName" not in (spec.get("type"), old.get("type")):
        for field in ("clusterIP", "clusterIPs"):
            if not spec.get(field) and old.get(field):
                spec[field] = old[field]
    before, after = old.get("clusterIP") or "", spec.get("clusterIP") or ""
    if before == after:
        if not spec.get("clusterIPs") and old.get("clusterIPs"):
            spec["clusterIPs"] = old["clusterIPs"]
    elif (spec.get("clusterIPs") or []) == (old.get("clusterIPs") or []):
        if after:
            spec["clusterIPs"] = [after]
        else:
            spec.pop("clusterIPs", None)


def settle(spec: JSONObject, old: JSONObject | None, family: str) -> Errors:
    """Fill in policy and families; what is wrong with those that are given."""
    if old is not None and _stays_as_it_is(spec, old):
        return []
    headless = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        known = (old or {}).get("ipFamilyPolicy")
        spec["ipFamilyPolicy"] = known or ("RequireDualStack" if headless else "SingleStack")
    errors = cluster_ip_errors(spec, old) or _policy_errors(spec, old, family)
    if errors:
        return errors
    families: list[str] = list(spec.get("ipFamilies") or [])
    if headless:
        families = families or [family]
        if len(families) < 2 and spec["ipFamilyPolicy"] != "SingleStack":
            families.append(_OTHER[families[0]])
        spec["ipFamilies"] = families
        return []
    if spec["ipFamilyPolicy"] == "RequireDualStack":
        text = "this cluster is not configured for dual-stack services"
        errors.append(invalid("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], text))
    for index, wanted in enumerate(families):
        if wanted != family:
            errors.append(invalid(f"spec.ipFamilies[{index}]", wanted, "not configured on this cluster"))
    if not errors:
        spec["ipFamilies"] = families or [family]
    return errors


def _stays_as_it_is(spec: JSONObject, old: JSONObject) -> bool:
    """Whether neither families nor addresses of a service that prefers both families are touched."""
    if spec.get("type") == "ExternalName" or old.get("ipFamilyPolicy") != "PreferDualStack":
        return False
    fields = ("type", "ipFamilyPolicy", "clusterIPs", "ipFamilies")
    return all(spec.get(field) == old.get(field) for field in fields)


def _policy_errors(spec: JSONObject, old: JSONObject | None, family: str) -> Errors:
    """Whether the policy fits the addresses and families; families are inferred from addresses."""
    errors: Errors = []
    policy = spec["ipFamilyPolicy"]
    if old is not None:
        for field, what in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
            before, after = old.get(field) or [], spec.get(field) or []
            if policy == "SingleStack" and before == after and len(after) > 1:
                spec[field] = after[:1]
            elif policy != "SingleStack" and 0 < len(after) < len(before):
                text = f"must be 'SingleStack' to release the secondary {what}"
                errors.append(invalid("spec.ipFamilyPolicy", policy, text))
    addresses: list[str] = spec.get("clusterIPs") or []
    families: list[str] = list(spec.get("ipFamilies") or [])
    for values, what in ((addresses, "cluster IPs"), (families, "IP families")):
        if policy == "SingleStack" and len(values) == 2:
            text = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
            errors.append(invalid("spec.ipFamilyPolicy", policy, text))
    for index, address in enumerate(addresses[len(families) :], len(families)):
        if address == "None":
            break
        if family_of(address) == family:
            families.append(family)
        else:
            text = f"{family_of(address)} is not configured on this cluster"
            errors.append(invalid(f"spec.clusterIPs[{index}]", addresses, text))
    if families:
        spec["ipFamilies"] = families
    return errors
