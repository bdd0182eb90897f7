"""What the API says about a Cluster beyond its schema: what it fills in, what it refuses, the form in which it is kept.

Pure functions on trees, in the order in which the server calls them: `complete`, `problems`, `normalise`. Grades are
kept in order; the first begins at zero and the last has no end, whatever was written there.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, urlsplit

import orjson

from karmada.api import name_rules, timestamps
from karmada.api.field_errors import FieldError, invalid, not_supported, quoted, required
from karmada.api.names import LONGEST_CLUSTER_NAME
from karmada.api.quantity import Quantity, QuantityError
from karmada.api.urls import masked
from karmada.api.webhook_urls import malformed
from karmada.membership.models import DEFAULT_MODELS, UNBOUNDED

JSONObject = dict[str, Any]
SYNC_MODES = ("Pull", "Push")
EFFECTS = ("NoSchedule", "NoExecute")
MAX_INT64 = 2**63 - 1
PROXY_SCHEMES = ("http", "https", "socks5")
_ENDPOINT_FORM = "; desired format: hostname, hostname:port, IP or IP:port"


def complete(spec: JSONObject, *, new: bool, modeling: bool = True) -> None:
    """Fill in grades, or put those that are given in their kept form."""
    models = spec.get("resourceModels")
    if not modeling:
        return
    if models:
        _standardise(models)
    elif new:
        spec["resourceModels"] = orjson.loads(_DEFAULT_MODELS)


def normalise(spec: JSONObject, now: str) -> None:
    """The kept form: a zone is one of the zones, also when it is applied again; a NoExecute taint has a time."""
    if spec.get("zone") and (spec.get("zones") or [spec["zone"]]) == [spec["zone"]]:
        spec["zones"] = [spec.pop("zone")]
    for taint in spec.get("taints") or ():
        if taint.get("effect") == "NoExecute" and not taint.get("timeAdded"):
            taint["timeAdded"] = now


def name_problems(name: str) -> list[str]:
    """Complaints about a cluster's name; it must leave room for the prefix of its execution space."""
    if not name:
        return ["must be not empty"]
    if len(name) > LONGEST_CLUSTER_NAME:
        return [f"must be no more than {LONGEST_CLUSTER_NAME} characters"]
    return name_rules.dns_label(name)


def problems(spec: Mapping[str, Any]) -> list[FieldError]:
    """What is wrong with a spec."""
    mode = spec.get("syncMode") or ""
    found = [] if mode else [required("spec.syncMode")]
    if mode not in SYNC_MODES:
        found.append(not_supported("spec.syncMode", mode, SYNC_MODES))
    if spec.get("apiEndpoint"):
        found += _endpoint_problems(spec["apiEndpoint"])
    for field in ("secretRef", "impersonatorSecretRef"):
        reference = spec.get(field)
        if reference is not None:
            found += [required(f"spec.{field}.{part}") for part in ("namespace", "name") if not reference.get(part)]
    if spec.get("proxyURL"):
        found += _proxy_problems(spec["proxyURL"])
    for field in ("provider", "region"):
        found += _label_problems(f"spec.{field}", spec.get(field) or "")
    found += _zone_problems(spec)
    found += _taint_problems(spec.get("taints") or ())
    if spec.get("resourceModels"):
        found += _model_problems(spec["resourceModels"])
    return found


def _zone_problems(spec: Mapping[str, Any]) -> list[FieldError]:
    zone, zones = spec.get("zone") or "", spec.get("zones") or ()
    if zone and zones:
        return [invalid("spec.spec", _go_spec(spec), "Zone and Zones cannot co-exist")]
    if zone:
        return _label_problems("spec.Zone", zone)
    return [problem for each in zones for problem in _label_problems("spec.Zones", each or "")]


def _label_problems(field: str, value: str) -> list[FieldError]:
    problems = name_rules.label_value(value)
    return [invalid(field, value, "; ".join(problems))] if problems else []


def _endpoint_problems(text: str) -> list[FieldError]:
    field = "spec.apiEndpoint"
    url = _parsed(text)
    if isinstance(url, str):
        return [invalid(field, masked(text), f"apiEndpoint must be a valid URL: {url}{_ENDPOINT_FORM}")]
    found = [] if url.netloc else [invalid(field, url.netloc, f"host must be provided{_ENDPOINT_FORM}")]
    user, at, _ = url.netloc.rpartition("@")
    if at:
        found.append(invalid(field, user.partition(":")[0], "user information is not permitted in the URL"))
    if url.fragment:
        found.append(invalid(field, url.fragment, "fragments are not permitted in the URL"))
    if url.query:
        found.append(invalid(field, url.query, "query parameters are not permitted in the URL"))
    return found


def _proxy_problems(text: str) -> list[FieldError]:
    field = "spec.proxyURL"
    url = _parsed(text)
    if isinstance(url, str):
        return [invalid(field, masked(text), f"apiEndpoint must be a valid URL: {url}")]
    if url.scheme not in PROXY_SCHEMES:
        return [invalid(field, masked(text), f'unsupported scheme "{url.scheme}", must be http, https, or socks5')]
    return []


def _parsed(text: str) -> SplitResult | str:
    """The parts of a URL, or why there are none."""
    if problem := malformed(text):
        return f"parse {quoted(masked(text))}: {problem}"
    try:
        url = urlsplit(masked(text))
        _ = url.port
    except ValueError as error:
        return str(error)
    return url


def _taint_problems(taints: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        field = f"spec.taints[{index}]"
        taint = taint or {}
        key, value, effect = (taint.get(part) or "" for part in ("key", "value", "effect"))
        found += [invalid(f"{field}.key", key, problem) for problem in name_rules.label_key(key)]
        if problems := name_rules.label_value(value):
            found.append(invalid(f"{field}.value", value, ";".join(problems)))
        if not effect:
            found.append(required(f"{field}.effect"))
        elif effect not in EFFECTS:
            choices = ", ".join(f'"{choice}"' for choice in EFFECTS)
            message = f'Unsupported value: "{effect}": supported values: {choices}'
            found.append(FieldError("FieldValueNotSupported", f"{field}.effect", message))
        if taint.get("timeAdded") is not None:
            found += _time_problems(f"{field}.timeAdded", str(taint["timeAdded"]))
        if (key, effect) in seen:
            shown = quoted(_go_taint(taint))
            message = f"Duplicate value: {shown}: taints must be unique by key and effect pair"
            found.append(FieldError("FieldValueDuplicate", field, message))
        seen.add((key, effect))
    return found


def _time_problems(field: str, time: str) -> list[FieldError]:
    try:
        timestamps.parse(time)
    except timestamps.TimestampError as error:
        return [invalid(field, time, str(error))]
    return []


def _standardise(models: list[JSONObject]) -> None:
    models[:] = sorted((model or {} for model in models), key=lambda model: model.get("grade") or 0)
    for model in models:
        if model.get("ranges"):
            model["ranges"] = [bounds or {} for bounds in model["ranges"]]
    for bounds in models[0].get("ranges") or ():
        bounds["min"] = "0"
    for bounds in models[-1].get("ranges") or ():
        bounds["max"] = UNBOUNDED


def _model_problems(models: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    """The first thing wrong with the grades, if anything."""
    field = "spec.resourceModels"
    try:
        amounts = [[(_quantity(b, "min"), _quantity(b, "max")) for b in model.get("ranges") or ()] for model in models]
    except QuantityError as error:
        return [FieldError("FieldValueInvalid", field, f"Invalid value: {error}")]
    for index, model in enumerate(models):
        before = models[index - 1] if index else None
        detail = _grade_problem(model, before, amounts[index], amounts[index - 1] if index else None)
        if not detail and index == len(models) - 1 and any(top.value() != MAX_INT64 for _, top in amounts[index]):
            detail = "The max value of each resource in the last model should be MaxInt64"
        if detail:
            return [invalid(field, _go_models(models), detail)]
    return []


def _grade_problem(
    model: Mapping[str, Any],
    before: Mapping[str, Any] | None,
    amounts: Sequence[tuple[Quantity, Quantity]],
    amounts_before: Sequence[tuple[Quantity, Quantity]] | None,
) -> str:
    ranges = model.get("ranges") or ()
    if before is not None:
        if (model.get("grade") or 0) == (before.get("grade") or 0):
            return "The grade of each models should not be the same"
        if len(before.get("ranges") or ()) != len(ranges):
            return "The number of resource types should be the same"
    for place, bounds in enumerate(ranges):
        name = bounds.get("name") or ""
        low, high = amounts[place]
        if high.compare(low) <= 0:
            return "The max value of each resource must be greater than the min value"
        if before is None or amounts_before is None:
            if low:
                return "The min value of each resource in the first model should be 0"
        elif (before["ranges"][place].get("name") or "") != name:
            return "The resource types of each models should be the same"
        elif amounts_before[place][1].compare(low) != 0:
            return "Model intervals for resources must be contiguous and non-overlapping"
    return ""


def _quantity(bounds: Mapping[str, Any], end: str) -> Quantity:
    return Quantity.parse(bounds.get(end) or "0")


def _go_models(models: Iterable[Mapping[str, Any]]) -> list[JSONObject]:
    """Grades as the reference quotes them."""
    return [
        {
            "Grade": model.get("grade") or 0,
            "Ranges": None
            if model.get("ranges") is None
            else [
                {"Name": b.get("name") or "", "Min": str(_quantity(b, "min")), "Max": str(_quantity(b, "max"))}
                for b in model["ranges"]
            ],
        }
        for model in models
    ]


def _go_spec(spec: Mapping[str, Any]) -> JSONObject:
    """A spec as the reference quotes it, without what opens a proxy."""
    shown: JSONObject = {"id": spec["id"]} if spec.get("id") else {}
    shown |= {
        "SyncMode": spec.get("syncMode") or "",
        "APIEndpoint": spec.get("apiEndpoint") or "",
        "SecretRef": _go_reference(spec.get("secretRef")),
        "ImpersonatorSecretRef": _go_reference(spec.get("impersonatorSecretRef")),
        "InsecureSkipTLSVerification": bool(spec.get("insecureSkipTLSVerification")),
        "ProxyURL": masked(spec.get("proxyURL") or ""),
        "ProxyHeader": _masked_values(spec.get("proxyHeader")),
        "Provider": spec.get("provider") or "",
        "Region": spec.get("region") or "",
        "Zone": spec.get("zone") or "",
        "zones": None if spec.get("zones") is None else [zone or "" for zone in spec["zones"]],
        "Taints": None if spec.get("taints") is None else [_go_taint(taint or {}) for taint in spec["taints"]],
        "ResourceModels": None if spec.get("resourceModels") is None else _go_models(spec["resourceModels"]),
    }
    return shown


def _masked_values(headers: Mapping[str, Any] | None) -> JSONObject | None:
    return None if headers is None else dict.fromkeys(sorted(headers), "xxxxx")


def _go_taint(taint: Mapping[str, Any]) -> JSONObject:
    """A taint as the reference quotes it."""
    shown = {"key": taint.get("key") or "", "value": taint.get("value"), "effect": taint.get("effect") or ""}
    shown["timeAdded"] = taint.get("timeAdded")
    return {field: value for field, value in shown.items() if value or field in ("key", "effect")}


def _go_reference(reference: Mapping[str, Any] | None) -> JSONObject | None:
    if reference is None:
        return None
    return {"Namespace": reference.get("namespace") or "", "Name": reference.get("name") or ""}


_DEFAULT_MODELS = orjson.dumps(DEFAULT_MODELS)
