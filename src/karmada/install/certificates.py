"""The Secrets that installations mount. For the chart: one CA each for the control plane, etcd and front proxies, a key
pair per server, and a kubeconfig per component with a certificate of its own.

Every Secret has the keys of `kubernetes.io/tls` (`ca.crt`, `tls.crt`, `tls.key`); kubeconfigs are in
`<component>-config` under `karmada.config`, as Karmada's own manifests have it.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from karmada.api.names import SYSTEM_NAMESPACE
from karmada.apiserver.auth.kubeconfig import kubeconfig
from karmada.apiserver.auth.pki import (
    CLIENT_AUTH,
    LEAF_DAYS,
    SERVER_AUTH,
    Authority,
    KeyUsages,
    private_pem,
    server_names,
    user_name,
)
from karmada.install.naming import USUAL, Names
from karmada.machinery.transport import JSONObject
from karmada.membership.component_roles import COMPONENTS, user_of

FRONT_PROXY = "front-proxy-client"
KARMADA, ETCD, FRONT_PROXIES = AUTHORITIES = ("karmada", "etcd", "front-proxy-ca")
"""The authorities of an installation."""
CA, CA_KEY, SIGNING_KEY = "karmada-ca", "karmada-ca-key", "karmada-service-account-key"
SERVING = ("karmada-aggregated-apiserver", "karmada-metrics-adapter", "karmada-search", "karmada-webhook")
KUBE = "kube-controller-manager"
PART = {"app.kubernetes.io/part-of": "karmada"}
ADMIN = "karmada-admin"
DASHBOARD = "karmada-dashboard"


class Leaf(NamedTuple):
    """A certificate that an installation needs, and the Secret that holds it."""

    secret: str
    authority: str
    """Who issues it."""
    hosts: Sequence[str] = ()
    """Names of a server."""
    user: str = ""
    """Name of a client."""
    groups: Sequence[str] = ()
    config: str = ""
    """The user's name in a kubeconfig: what the Secret holds, if it is none of the plain files."""
    server: str = ""
    """Whom the kubeconfig opens."""


def leaves(
    namespace: str, domain: str, etcd_members: Sequence[str], hosts: Iterable[str] = (), names: Names = USUAL
) -> list[Leaf]:
    """All certificates of an installation; `hosts` are further names of its API server."""

    def service(usual: str) -> list[str]:
        name = names.of(usual)
        return [name, f"{name}.{namespace}", f"{name}.{namespace}.svc", f"{name}.{namespace}.svc.{domain}"]

    members = [f"{member}.{names.of('etcd')}.{namespace}.svc.{domain}" for member in etcd_members]
    api_hosts = [*service("karmada-apiserver"), "kubernetes.default.svc", "localhost", "127.0.0.1", *hosts]
    server = server_of(namespace, names)
    found = [
        Leaf("karmada-apiserver-cert", KARMADA, api_hosts),
        *(Leaf(f"{name}-cert", KARMADA, [*service(name), known_as(name)]) for name in SERVING),
        Leaf(f"{DASHBOARD}-cert", KARMADA, [*service(DASHBOARD), "localhost", "127.0.0.1"]),
        Leaf("karmada-etcd-cert", ETCD, [*service("etcd-client"), *members, "localhost", "127.0.0.1"], "etcd"),
        Leaf("karmada-etcd-client-cert", ETCD, user="karmada-apiserver"),
        Leaf("karmada-estimator-client-cert", KARMADA, user="karmada-scheduler"),
        Leaf("karmada-front-proxy-cert", FRONT_PROXIES, user=FRONT_PROXY),
        *(Leaf(f"{name}-config", KARMADA, (), user_of(name), (), name, server) for name in COMPONENTS),
        Leaf(f"{ADMIN}-config", KARMADA, (), "system:admin", ("system:masters",), ADMIN, server),
        Leaf(f"{KUBE}-config", KARMADA, (), f"system:{KUBE}", (), KUBE, server),
    ]
    return [leaf._replace(secret=names.of(leaf.secret)) for leaf in found]


def server_of(namespace: str, names: Names = USUAL) -> str:
    """The address of the API server inside its host cluster."""
    return f"https://{names.of('karmada-apiserver')}.{namespace}.svc:5443"


def known_as(component: str) -> str:
    """By which name the control plane calls a component whose group it serves: that of its own Service."""
    return f"{component}.{SYSTEM_NAMESPACE}.svc"


def certificates(
    namespace: str, domain: str, etcd_members: Sequence[str], hosts: Iterable[str] = ()
) -> tuple[list[JSONObject], str]:
    """The Secrets, and the control plane's CA (PEM in base64); `hosts` are further names of its API server."""
    authorities = {name: Authority.create(name) for name in AUTHORITIES}
    ca, issue = authorities[KARMADA], Issuer(namespace)
    secrets = [
        issue.authority(CA, ca),
        issue.secret(CA_KEY, ca, ca.certificate_pem, ca.key_pem),
        issue.signing_key(SIGNING_KEY),
        *(issue.leaf(leaf, authorities[leaf.authority]) for leaf in leaves(namespace, domain, etcd_members, hosts)),
        issue.config_of_nobody(DASHBOARD, ca, server_of(namespace)),
    ]
    return secrets, base64.b64encode(ca.certificate_pem).decode()


class Issuer:
    """Makes Secrets of certificates, keys and kubeconfigs for one namespace."""

    def __init__(self, namespace: str, labels: Mapping[str, str] = PART, seconds: int = LEAF_DAYS * 86400) -> None:
        self._namespace = namespace
        self._labels = labels
        self._seconds = seconds

    def leaf(self, leaf: Leaf, authority: Authority) -> JSONObject:
        """What an installation needs."""
        if leaf.config:
            return self._config(leaf.secret, leaf.config, authority, leaf.server, leaf.user, leaf.groups)
        if leaf.hosts and leaf.user:
            return self.peer(leaf.secret, authority, leaf.hosts)
        if leaf.hosts:
            return self.server(leaf.secret, authority, leaf.hosts)
        return self.client(leaf.secret, authority, leaf.user)

    def authority(self, name: str, authority: Authority) -> JSONObject:
        """Whom to trust: the certificate of a CA without its key."""
        return self.secret(name, authority, authority.certificate_pem, b"")

    def configs(self, authority: Authority, server: str) -> list[JSONObject]:
        """A kubeconfig per component, as its own user, and the administrator's, which no pod mounts."""
        made = [self.config(component, authority, server, user_of(component)) for component in COMPONENTS]
        return [*made, self.config(ADMIN, authority, server, "system:admin", ("system:masters",))]

    def secret(self, name: str, authority: Authority, certificate: bytes, key: bytes) -> JSONObject:
        """A certificate and its key."""
        return self.opaque(name, {"ca.crt": authority.certificate_pem, "tls.crt": certificate, "tls.key": key})

    def server(self, name: str, authority: Authority, hosts: Sequence[str]) -> JSONObject:
        """A server's."""
        return self.secret(name, authority, *authority.issue_server(hosts[0], server_names(hosts), self._seconds))

    def peer(self, name: str, authority: Authority, hosts: Sequence[str]) -> JSONObject:
        """A server that is a client of its like."""
        key = ec.generate_private_key(ec.SECP256R1())
        usages = KeyUsages(extended=(SERVER_AUTH, CLIENT_AUTH))
        names = server_names(hosts)
        certificate = authority.issue(user_name(hosts[0], ()), key.public_key(), usages, names, self._seconds)
        return self.secret(name, authority, certificate, private_pem(key))

    def client(self, name: str, authority: Authority, user: str) -> JSONObject:
        """A client's."""
        return self.secret(name, authority, *authority.issue_client(user, seconds=self._seconds))

    def signing_key(self, name: str) -> JSONObject:
        """A key that signs tokens."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return self.opaque(name, {"tls.crt": public, "tls.key": private_pem(key)})

    def config(
        self, component: str, authority: Authority, server: str, user: str, groups: Sequence[str] = ()
    ) -> JSONObject:
        """The kubeconfig of a user."""
        return self._config(f"{component}-config", component, authority, server, user, groups)

    def _config(
        self, name: str, component: str, authority: Authority, server: str, user: str, groups: Sequence[str]
    ) -> JSONObject:
        certificate, key = authority.issue_client(user, groups, self._seconds)
        config = kubeconfig(server, authority.certificate_pem, user=component, certificate=certificate, key=key)
        return self.opaque(name, {"karmada.config": orjson.dumps(config)})

    def config_of_nobody(self, component: str, authority: Authority, server: str) -> JSONObject:
        """Where the API server is and whom to trust, for a component that acts with its users' credentials only."""
        config = kubeconfig(server, authority.certificate_pem, user=component)
        return self.opaque(f"{component}-config", {"karmada.config": orjson.dumps(config)})

    def opaque(self, name: str, content: Mapping[str, bytes]) -> JSONObject:
        """A Secret of any content; what is empty is left out."""
        data: dict[str, Any] = {key: base64.b64encode(value).decode() for key, value in content.items() if value}
        metadata = {"name": name, "namespace": self._namespace, "labels": dict(self._labels)}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}
