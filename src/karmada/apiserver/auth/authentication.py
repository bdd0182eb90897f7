"""Who is asking: the chain of client certificate, bearer token and, without either, the anonymous user.

Any credential that is presented must be good: a request with a bad certificate or token is answered 401, it does not
fall back to anonymous. A good certificate counts before a token.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence

from karmada.apiserver.auth.bootstrap_tokens import BootstrapTokens
from karmada.apiserver.auth.certificates import CertificateAuthenticator
from karmada.apiserver.auth.model import ANONYMOUS, UserInfo
from karmada.apiserver.auth.service_accounts import ServiceAccountTokens, Verified
from karmada.apiserver.auth.static_tokens import StaticTokens
from karmada.machinery.httpserver.failure import Failure


class Authenticator:
    """Authenticates requests; every part is optional."""

    def __init__(
        self,
        certificates: CertificateAuthenticator | None = None,
        static: StaticTokens | None = None,
        accounts: ServiceAccountTokens | None = None,
        bootstrap: BootstrapTokens | None = None,
        anonymous: bool = True,
    ) -> None:
        self._certificates = certificates
        self._static = static
        self._accounts = accounts
        self._bootstrap = bootstrap
        self._anonymous = anonymous

    def authenticate(self, headers: Mapping[str, str], certificate: bytes | None) -> UserInfo:
        """The identity behind a request; raises the 401 `Failure`."""
        if certificate is not None and self._certificates is not None:
            user = self._certificates.authenticate(certificate)
            if user is not None:
                return user
        token = bearer_token(headers)
        if token:
            verified = self.verify(token)
            if isinstance(verified, str) or not _served(verified.audiences, self._audiences):
                raise unauthorized()
            return verified.user
        if certificate is not None or not self._anonymous:
            raise unauthorized()
        return ANONYMOUS

    def verify(self, token: str) -> Verified | str:
        """Whose bearer token it is, of whatever kind; a text says why it is not good."""
        if self._static is not None and (user := self._static.authenticate(token)):
            return Verified(user, self._audiences)
        if self._bootstrap is not None and (user := self._bootstrap.authenticate(token)):
            return Verified(user, self._audiences)
        if self._accounts is not None:
            verified = self._accounts.verify(token)
            if verified != "":
                return verified
        return "invalid bearer token"

    @property
    def _audiences(self) -> tuple[str, ...]:
        return self._accounts.audiences if self._accounts is not None else ()


def bearer_token(headers: Mapping[str, str]) -> str:
    """The token of the Authorization header, or of the WebSocket subprotocol browsers must use; empty when absent."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    return _websocket_token(headers.get("sec-websocket-protocol", ""))


def unauthorized() -> Failure:
    """The answer to a request whose credentials are not good."""
    return Failure(401, "Unauthorized", "Unauthorized")


def _served(audiences: Sequence[str], own: Sequence[str]) -> bool:
    return any(audience in own for audience in audiences) or not own


_SUBPROTOCOL = "base64url.bearer.authorization.k8s.io."


def _websocket_token(offered: str) -> str:
    for protocol in offered.split(","):
        name = protocol.strip()
        if name.startswith(_SUBPROTOCOL):
            return _decode_subprotocol(name.removeprefix(_SUBPROTOCOL))
    return ""


def _decode_subprotocol(text: str) -> str:
    """A token as WebSocket clients send it: base64url without padding."""
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
