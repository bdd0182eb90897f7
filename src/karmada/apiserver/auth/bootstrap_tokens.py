"""Bootstrap tokens: `id.secret` pairs kept as Secrets in kube-system, with which new clusters and nodes introduce
themselves. A token is good while its Secret exists, has not expired and allows the use `authentication`.
"""

import base64
import binascii
import hmac
import re
from collections.abc import Callable
from datetime import datetime

from karmada.apiserver.auth.certificates import AUTHENTICATED
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.auth.objects import SECRETS, Objects

NAMESPACE = "kube-system"
PREFIX = "bootstrap-token-"
SECRET_TYPE = "bootstrap.kubernetes.io/token"
DEFAULT_GROUP = "system:bootstrappers"

_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")


class BootstrapTokens:
    """Verifies bootstrap tokens against the stored Secrets."""

    def __init__(self, objects: Objects, clock: Callable[[], float]) -> None:
        self._objects = objects
        self._clock = clock

    def authenticate(self, token: str) -> UserInfo | None:
        """The identity of a bootstrap token; None when it proves none."""
        match = _TOKEN.fullmatch(token)
        if match is None:
            return None
        identifier, secret = match.groups()
        obj = self._objects.read(SECRETS, NAMESPACE, PREFIX + identifier)
        if obj is None or obj.get("type") != SECRET_TYPE or obj["metadata"].get("deletionTimestamp"):
            return None
        data = _decoded(obj.get("data") or {})
        if data.get("token-id") != identifier or not hmac.compare_digest(data.get("token-secret", ""), secret):
            return None
        if data.get("usage-bootstrap-authentication") != "true" or self._expired(data.get("expiration", "")):
            return None
        groups = [DEFAULT_GROUP]
        for group in filter(None, data.get("auth-extra-groups", "").split(",")):
            if not _GROUP.fullmatch(group):
                return None
            groups.append(group)
        return UserInfo(f"system:bootstrap:{identifier}", (*sorted(set(groups)), AUTHENTICATED))

    def _expired(self, expiration: str) -> bool:
        if not expiration:
            return False
        try:
            return datetime.fromisoformat(expiration).timestamp() <= self._clock()
        except ValueError:
            return True


def _decoded(data: dict[str, str]) -> dict[str, str]:
    decoded = {}
    for key, value in data.items():
        try:
            decoded[key] = base64.b64decode(value).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue
    return decoded
