"""Everything about identity one server needs, from one folder of keys: who asks, and what may they do.

Keys and certificates are made when they are first needed: an in-process server that nobody reaches over TLS and that
mints no tokens never pays for them. Without a folder they live in memory only.
"""

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from karmada.apiserver.auth.impersonation import impersonate
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.auth.objects import StoredObjects
from karmada.apiserver.auth.rbac import RbacAuthorizer
from karmada.apiserver.auth.rbac_sync import RbacFollower
from karmada.apiserver.watchcache import WatchCache
from karmada.machinery.httpserver.model import HttpRequest

if TYPE_CHECKING:
    from OpenSSL import SSL

    from karmada.apiserver.auth.authentication import Authenticator
    from karmada.apiserver.auth.front_proxy import FrontProxies
    from karmada.apiserver.auth.pki import Authority
    from karmada.apiserver.auth.service_accounts import ServiceAccountTokens
    from karmada.apiserver.auth.static_tokens import StaticTokens

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
SERVICE_HOSTS = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")


class Identity:
    """Identity of one server.

    `proxy_client` are the files of the certificate and key for calling aggregated servers, made here when absent;
    `client_ca` are further CAs (PEM) whose client certificates count, `token_keys` further keys (PEM) whose tokens do;
    `signing_key` signs tokens instead of a key of the server's own.
    """

    def __init__(
        self,
        store: WatchCache,
        folder: Path | None = None,
        *,
        static: "StaticTokens | None" = None,
        client_ca: bytes = b"",
        anonymous: bool = True,
        issuer: str = "",
        signing_key: bytes = b"",
        token_keys: Sequence[bytes] = (),
        proxies: "FrontProxies | None" = None,
        proxy_client: tuple[str, str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.rbac = RbacAuthorizer()
        self.follower = RbacFollower(store, self.rbac)
        self.objects = StoredObjects(store)
        self._folder = folder
        self._static = static
        self._client_ca = client_ca
        self._anonymous = anonymous
        self._issuer = issuer
        self._signing = signing_key
        self._token_keys = token_keys
        self._proxies = proxies
        self._proxy_client = proxy_client
        self._clock = clock

    @cached_property
    def authority(self) -> "Authority":
        """The CA that signs serving and client certificates."""
        from karmada.apiserver.auth.pki import Authority, ensure_authority

        if self._folder is None:
            return Authority.create("kubernetes-ca")
        return ensure_authority(self._folder, "kubernetes-ca")

    @cached_property
    def front_proxy_authority(self) -> "Authority":
        """The CA that signs the certificate with which this server speaks for users, and nothing else."""
        from karmada.apiserver.auth.pki import Authority, ensure_authority

        if self._folder is None:
            return Authority.create("front-proxy-ca")
        return ensure_authority(self._folder, "front-proxy-ca", "front-proxy-ca")

    @cached_property
    def tokens(self) -> "ServiceAccountTokens":
        """Mints and verifies service-account tokens."""
        from karmada.apiserver.auth import jwt, service_accounts

        issuer = self._issuer or service_accounts.DEFAULT_ISSUER
        return service_accounts.ServiceAccountTokens(
            jwt.SigningKey(self._signing or self._own_signing_key()),
            self.objects,
            self._clock,
            lambda: str(uuid.uuid4()),
            issuer,
            accepted=[jwt.PublicKey.load(pem) for pem in self._token_keys],
        )

    @cached_property
    def authenticator(self) -> "Authenticator":
        """The chain of authentication."""
        from karmada.apiserver.auth.authentication import Authenticator
        from karmada.apiserver.auth.bootstrap_tokens import BootstrapTokens
        from karmada.apiserver.auth.certificates import CertificateAuthenticator

        certificates = CertificateAuthenticator(self.authority.certificate_pem + self._client_ca, self._clock)
        bootstrap = BootstrapTokens(self.objects, self._clock)
        return Authenticator(certificates, self._static, self.tokens, bootstrap, self._anonymous)

    def requester_of(self, request: HttpRequest) -> UserInfo:
        """The identity behind a request; raises 401."""
        if self._proxies is not None:
            user = self._proxies.authenticate(request.headers, request.certificate)
            if user is not None:
                return user
        return self.authenticator.authenticate(request.headers, request.certificate)

    def acting_as(self, requester: UserInfo, headers: Mapping[str, str]) -> UserInfo:
        """The identity as which a requester acts; raises the 400 or 403 of impersonation."""
        return impersonate(self.rbac, requester, headers)

    def tls(self, hosts: Sequence[str] = ()) -> "SSL.Context":
        """A context with the (kept or renewed) serving certificate; call it again to rotate."""
        from karmada.apiserver.auth.pki import ensure_serving, server_names
        from karmada.machinery.httpserver.tls import server_context

        names = (*LOCAL_HOSTS, *SERVICE_HOSTS, *hosts)
        if self._folder is None:
            certificate, key = self.authority.issue_server("kube-apiserver", server_names(names))
        else:
            certificate, key = ensure_serving(self._folder, self.authority, names)
        return server_context(certificate, key, self.authority.certificate_pem + self._client_ca)

    def front_proxy_files(self) -> tuple[str, str] | None:
        """Files of the certificate and key with which this server calls aggregated ones; None without a folder."""
        return self._front_proxy_files

    @cached_property
    def _front_proxy_files(self) -> tuple[str, str] | None:
        from karmada.apiserver.auth.front_proxy import CLIENT_NAME
        from karmada.apiserver.auth.pki import ensure_client

        if self._proxy_client is not None or self._folder is None:
            return self._proxy_client
        certificate, key = ensure_client(self._folder, self.front_proxy_authority, CLIENT_NAME)
        return str(certificate), str(key)

    def _own_signing_key(self) -> bytes:
        from karmada.apiserver.auth import jwt
        from karmada.apiserver.auth.pki import write_file

        if self._folder is None:
            return jwt.generate_key()
        path = self._folder / "sa.key"
        if not path.exists():
            write_file(path, jwt.generate_key(), 0o600)
        return path.read_bytes()
