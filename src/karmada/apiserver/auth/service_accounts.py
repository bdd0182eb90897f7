"""Service-account tokens: minting and verifying, projected (bound, expiring) and legacy (from a Secret).

A projected token is good while it has not expired, its service account has the uid it names, and the Pod, Secret or
Node it is bound to still exists with the uid it names; one that is deleted and held back by finalizers counts as gone.
A legacy token is good while its Secret holds it, and neither that nor the service account is being deleted.
Signatures are checked once per token; existence is checked on every request, from memory.
"""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from karmada.apiserver.auth import jwt
from karmada.apiserver.auth.certificates import AUTHENTICATED, CREDENTIAL_ID
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.auth.objects import NODES, PODS, SECRETS, SERVICE_ACCOUNTS, Kind, Objects

LEGACY_ISSUER = "kubernetes/serviceaccount"
DEFAULT_ISSUER = "https://kubernetes.default.svc.cluster.local"
USER_PREFIX = "system:serviceaccount:"
CACHE_SIZE = 8192
EXTRA = "authentication.kubernetes.io"
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"
LEEWAY = 60.0
"""Seconds that clocks may differ by."""
_BOUND = {"pod": PODS, "secret": SECRETS, "node": NODES}


@dataclass(frozen=True, slots=True)
class Verified:
    """A good token: whose it is and for which audiences."""

    user: UserInfo
    audiences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """The object a token is bound to; `kind` is pod, secret or node."""

    kind: str
    name: str
    uid: str


def user_name(namespace: str, name: str) -> str:
    """User name of a service account."""
    return f"{USER_PREFIX}{namespace}:{name}"


def split_user_name(user: str) -> tuple[str, str] | None:
    """Namespace and name of a service account's user name."""
    if not user.startswith(USER_PREFIX):
        return None
    namespace, _, name = user.removeprefix(USER_PREFIX).partition(":")
    return (namespace, name) if namespace and name and ":" not in name else None


def group_names(namespace: str) -> tuple[str, str]:
    """Groups every service account of a namespace is in."""
    return "system:serviceaccounts", f"system:serviceaccounts:{namespace}"


class ServiceAccountTokens:
    """Mints and verifies tokens of one issuer."""

    def __init__(
        self,
        signing: jwt.SigningKey,
        objects: Objects,
        clock: Callable[[], float],
        new_id: Callable[[], str],
        issuer: str = DEFAULT_ISSUER,
        accepted: Sequence[jwt.PublicKey] = (),
    ) -> None:
        self.issuer = issuer
        self.audiences = (issuer,)
        self._signing = signing
        self._objects = objects
        self._clock = clock
        self._new_id = new_id
        self._keys = {key.identifier: key for key in (signing.public, *accepted)}
        self._known: dict[str, jwt.Claims] = {}

    # Minting.

    def mint(
        self,
        namespace: str,
        name: str,
        uid: str,
        audiences: Sequence[str],
        seconds: int,
        bound: Bound | None = None,
        node: Bound | None = None,
        warn_after: int = 0,
    ) -> str:
        """A projected token; `node` is where a bound Pod runs."""
        at = int(self._clock())
        private: dict[str, Any] = {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}}
        for reference in (bound, node):
            if reference is not None:
                entry = {"name": reference.name, "uid": reference.uid}
                private[reference.kind] = {key: value for key, value in entry.items() if value}
        if warn_after:
            private["warnafter"] = at + warn_after
        return self._signing.sign(
            {
                "aud": list(audiences),
                "exp": at + seconds,
                "iat": at,
                "iss": self.issuer,
                "jti": self._new_id(),
                "kubernetes.io": private,
                "nbf": at,
                "sub": user_name(namespace, name),
            }
        )

    def mint_legacy(self, namespace: str, name: str, uid: str, secret: str) -> str:
        """A token for a Secret of type kubernetes.io/service-account-token."""
        return self._signing.sign(
            {
                "iss": LEGACY_ISSUER,
                "kubernetes.io/serviceaccount/namespace": namespace,
                "kubernetes.io/serviceaccount/secret.name": secret,
                "kubernetes.io/serviceaccount/service-account.name": name,
                "kubernetes.io/serviceaccount/service-account.uid": uid,
                "sub": user_name(namespace, name),
            }
        )

    # Verifying.

    def verify(self, token: str) -> Verified | str:
        """Whose token it is; a text says why it is not good, empty when it is not one of this issuer's at all."""
        claims = self._known.get(token)
        if claims is None:
            if jwt.peek(token).get("iss") not in (self.issuer, LEGACY_ISSUER):
                return ""
            try:
                claims = jwt.verify(token, self._keys)
            except jwt.BadToken as error:
                return str(error)
            if len(self._known) >= CACHE_SIZE:
                self._known.pop(next(iter(self._known)))
            self._known[token] = claims
        try:
            if claims["iss"] == LEGACY_ISSUER:
                return self._verify_legacy(token, claims)
            return self._verify_projected(claims)
        except (KeyError, TypeError, AttributeError):
            return "the token's claims are incomplete"

    def _verify_projected(self, claims: jwt.Claims) -> Verified | str:
        at = self._clock()
        if at >= claims["exp"]:
            return "service account token has expired"
        if at < claims["nbf"] - LEEWAY:
            return "service account token is not valid yet"
        private = claims["kubernetes.io"]
        namespace, account = private["namespace"], private["serviceaccount"]
        uid = self._objects.uid(SERVICE_ACCOUNTS, namespace, account["name"])
        if uid is None:
            return f'serviceaccounts "{account["name"]}" not found'
        if uid != account["uid"]:
            return f"service account UID ({uid}) does not match claim ({account['uid']})"
        if self._is_gone(SERVICE_ACCOUNTS, namespace, account["name"], at):
            return f"service account {namespace}/{account['name']} has been deleted"
        extra: dict[str, tuple[str, ...]] = {}
        if "jti" in claims:
            extra[CREDENTIAL_ID] = (f"JTI={claims['jti']}",)
        pod = private.get("pod")
        for kind, stored in _BOUND.items():
            reference = private.get(kind)
            if reference is None:
                continue
            # The node of a pod-bound token is a hint only: the pod decides how long the token lives.
            if kind != "node" or pod is None:
                home = "" if kind == "node" else namespace
                found = self._objects.uid(stored, home, reference["name"])
                if found != reference["uid"] or self._is_gone(stored, home, reference["name"], at):
                    return "service account token has been invalidated"
            if kind != "secret":
                extra[f"{EXTRA}/{kind}-name"] = (reference["name"],)
                if "uid" in reference:
                    extra[f"{EXTRA}/{kind}-uid"] = (reference["uid"],)
        audience = claims["aud"]
        audiences = (audience,) if isinstance(audience, str) else tuple(audience)
        return Verified(_user(namespace, account["name"], uid, extra), audiences)

    def _verify_legacy(self, token: str, claims: jwt.Claims) -> Verified | str:
        prefix = "kubernetes.io/serviceaccount/"
        namespace, name = claims[f"{prefix}namespace"], claims[f"{prefix}service-account.name"]
        secret = self._objects.read(SECRETS, namespace, claims[f"{prefix}secret.name"])
        stored = ((secret or {}).get("data") or {}).get("token", "")
        if base64.b64decode(stored) != token.encode() or _is_invalidated(secret or {}):
            return "token has been invalidated"
        uid = self._objects.uid(SERVICE_ACCOUNTS, namespace, name)
        if uid is None or uid != claims[f"{prefix}service-account.uid"]:
            return "the service account's UID does not match the token"
        if self._objects.deleted_at(SERVICE_ACCOUNTS, namespace, name):
            return f"service account {namespace}/{name} has been deleted"
        return Verified(_user(namespace, name, uid, {}), self.audiences)

    def _is_gone(self, kind: Kind, namespace: str, name: str, at: float) -> bool:
        """Whether an object was to be gone by now, whatever finalizers hold it back."""
        deleted = self._objects.deleted_at(kind, namespace, name)
        return bool(deleted) and datetime.fromisoformat(deleted).timestamp() < at - LEEWAY

    # Discovery.

    def key_set(self) -> dict[str, Any]:
        """The JWKS document."""
        return {"keys": [key.to_jwk() for key in self._keys.values()]}

    def configuration(self) -> dict[str, Any]:
        """The OpenID configuration document."""
        return {
            "issuer": self.issuer,
            "jwks_uri": f"{self.issuer}/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": sorted({key.algorithm for key in self._keys.values()}),
        }


def _is_invalidated(secret: dict[str, Any]) -> bool:
    """Whether a Secret that holds a token is being deleted, or marked as of no use any more."""
    metadata = secret.get("metadata") or {}
    return bool(metadata.get("deletionTimestamp") or (metadata.get("labels") or {}).get(INVALID_SINCE))


def _user(namespace: str, name: str, uid: str, extra: dict[str, tuple[str, ...]]) -> UserInfo:
    return UserInfo(user_name(namespace, name), (*group_names(namespace), AUTHENTICATED), uid, extra)
