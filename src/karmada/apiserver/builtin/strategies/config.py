"""Rules of ConfigMaps, Secrets and ServiceAccounts."""

import base64
import json

from karmada.api.field_errors import FieldError, invalid, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    config_key,
    config_key_problems,
    filled_values,
    frozen_keys,
    immutable,
    strategy,
)
from karmada.apiserver.redaction import REDACTED
from karmada.apiserver.selectable import fields

_LIMIT = 1024 * 1024
_NEEDED = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
}
_ACCOUNT = "kubernetes.io/service-account.name"


def _validate_config_map(obj: JSONObject, old: JSONObject | None) -> Errors:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    errors: Errors = []
    size = 0
    for key, text in data.items():
        if config_key_problems(key):
            errors += config_key("data", key)
        if key in binary:
            errors.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
        size += len(text)
    for key, encoded in binary.items():
        errors += config_key("binaryData", key)
        size += len(encoded or "") * 3 // 4
    if size > _LIMIT:
        errors.append(FieldError("FieldValueTooLong", "", f"Too long: may not be more than {_LIMIT} bytes"))
    return errors + frozen_keys(obj, old, ("data", "binaryData"))


def _default_secret(obj: JSONObject) -> None:
    plain = obj.pop("stringData", None)
    if plain:
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in plain.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}
    if (data := obj.get("data")) and None in data.values():
        obj["data"] = filled_values(data)
    obj.setdefault("type", "Opaque")


def _validate_secret(obj: JSONObject, old: JSONObject | None) -> Errors:
    data = obj.get("data") or {}
    errors: Errors = []
    size = 0
    for key, encoded in data.items():
        errors += config_key("data", key)
        size += len(encoded or "") * 3 // 4
    if size > _LIMIT:
        errors.append(FieldError("FieldValueTooLong", "data", f"Too long: may not be more than {_LIMIT} bytes"))
    errors += _by_type(obj, obj.get("type") or "", data)
    if old is not None:
        errors += immutable("type", obj.get("type"), old.get("type"))
    return errors + frozen_keys(obj, old, ("data",))


def _by_type(obj: JSONObject, kind: str, data: dict[str, str]) -> Errors:
    errors = [required(f"data[{key}]") for key in _NEEDED.get(kind, ()) if key not in data]
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & data.keys():
        errors += [required("data[username]"), required("data[password]")]
    if kind == "kubernetes.io/service-account-token":
        annotations = obj["metadata"].get("annotations") or {}
        if not annotations.get(_ACCOUNT):
            errors.append(required(f"metadata.annotations[{_ACCOUNT}]"))
    if kind in ("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson"):
        key = _NEEDED[kind][0]
        if key in data:
            errors += _docker(f"data[{key}]", data[key])
    return errors


def _docker(field: str, encoded: str) -> Errors:
    text = base64.b64decode(encoded).decode(errors="replace")
    try:
        if isinstance(json.loads(text), dict):
            return []
        problem = "json: cannot unmarshal into a map"
    except ValueError:
        first = text.lstrip()[:1]
        problem = (
            f"invalid character '{first}' looking for beginning of value" if first else "unexpected end of JSON input"
        )
    return [invalid(field, REDACTED, problem)]


def _name_secrets(obj: JSONObject) -> None:
    """Of references to secrets only the names are kept."""
    if secrets := obj.get("secrets"):
        obj["secrets"] = [{"name": one["name"]} if one.get("name") else {} for one in secrets]


def _default_config_map(obj: JSONObject) -> None:
    if (binary := obj.get("binaryData")) and None in binary.values():
        obj["binaryData"] = filled_values(binary)


def _secret_warnings(obj: JSONObject, old: JSONObject | None) -> list[str]:
    """Pairs of key and certificate are not refused when they cannot be read, but clients are warned."""
    if obj.get("type") != "kubernetes.io/tls":
        return []
    data = obj.get("data") or {}
    for key, what in (("tls.crt", "certificate"), ("tls.key", "key")):
        if b"-----BEGIN " not in base64.b64decode(data.get(key) or ""):
            return [f"tls: failed to find any PEM data in {what} input"]
    return []


CONFIG_MAP = strategy(_default_config_map, _validate_config_map)
SECRET = strategy(_default_secret, _validate_secret, selectable=fields("type"), warnings=_secret_warnings)
SERVICE_ACCOUNT = strategy(prepare_create=_name_secrets, prepare_update=lambda obj, old: _name_secrets(obj))
