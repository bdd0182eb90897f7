"""The Secrets that installations mount. For the chart: one CA each for the control plane, etcd and front proxies, a key
pair per server, and a kubeconfig per component with a certificate of its own.

Every Secret has the keys of `kubernetes.io/tls` (`ca.crt`, `tls.crt`, `tls.key`); kubeconfigs are in
`<component>-config` under `karmada.config`, as Karmada's own manifests have it.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

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
from karmada.machinery.transport import JSONObject
from karmada.membership.component_roles import COMPONENTS, EMBEDDED, user_of

FRONT_PROXY = "front-proxy-client"
PART = {"app.kubernetes.io/part-of": "karmada"}
ADMIN = "karmada-admin"


def certificates(
    namespace: str, domain: str, etcd_members: Sequence[str], hosts: Iterable[str] = ()
) -> tuple[list[JSONObject], str]:
    """The Secrets, and the control plane's CA (PEM in base64); `hosts` are further names of its API server."""
    ca, etcd, proxies = (Authority.create(name) for name in ("karmada", "etcd", "front-proxy-ca"))

    def service(name: str) -> list[str]:
        return [name, f"{name}.{namespace}", f"{name}.{namespace}.svc", f"{name}.{namespace}.svc.{domain}"]

    members = [f"{member}.etcd.{namespace}.svc.{domain}" for member in etcd_members]
    api_hosts = [*service("karmada-apiserver"), "kubernetes.default.svc", "localhost", "127.0.0.1", *hosts]
    issue = Issuer(namespace)
    secrets = [
        issue.authority("karmada-ca", ca),
        issue.secret("karmada-ca-key", ca, ca.certificate_pem, ca.key_pem),
        issue.server("karmada-apiserver-cert", ca, api_hosts),
        issue.server("karmada-aggregated-apiserver-cert", ca, service("karmada-aggregated-apiserver")),
        issue.server("karmada-metrics-adapter-cert", ca, service("karmada-metrics-adapter")),
        issue.server("karmada-webhook-cert", ca, service("karmada-webhook")),
        issue.peer("karmada-etcd-cert", etcd, [*service("etcd-client"), *members, "localhost", "127.0.0.1"]),
        issue.client("karmada-etcd-client-cert", etcd, "karmada-apiserver"),
        issue.client("karmada-estimator-client-cert", ca, "karmada-scheduler"),
        issue.client("karmada-front-proxy-cert", proxies, FRONT_PROXY),
        issue.signing_key("karmada-service-account-key"),
    ]
    server = f"https://karmada-apiserver.{namespace}.svc:5443"
    secrets += issue.configs(ca, server)
    secrets.append(issue.config("kube-controller-manager", ca, server, "system:kube-controller-manager"))
    return secrets, base64.b64encode(ca.certificate_pem).decode()


class Issuer:
    """Makes Secrets of certificates, keys and kubeconfigs for one namespace."""

    def __init__(self, namespace: str, labels: Mapping[str, str] = PART, seconds: int = LEAF_DAYS * 86400) -> None:
        self._namespace = namespace
        self._labels = labels
        self._seconds = seconds

    def authority(self, name: str, authority: Authority) -> JSONObject:
        """Whom to trust: the certificate of a CA without its key."""
        return self.secret(name, authority, authority.certificate_pem, b"")

    def configs(self, authority: Authority, server: str) -> list[JSONObject]:
        """A kubeconfig per component, as its own user, and the administrator's, which no pod mounts."""
        deployed = [component for component in COMPONENTS if component not in EMBEDDED]
        made = [self.config(component, authority, server, user_of(component)) for component in deployed]
        return [*made, self.config(ADMIN, authority, server, "system:admin", ("system:masters",))]

    def secret(self, name: str, authority: Authority, certificate: bytes, key: bytes) -> JSONObject:
        """A certificate and its key."""
        return self._opaque(name, {"ca.crt": authority.certificate_pem, "tls.crt": certificate, "tls.key": key})

    def server(self, name: str, authority: Authority, hosts: Sequence[str]) -> JSONObject:
        """A server's."""
        return self.secret(name, authority, *authority.issue_server(hosts[0], server_names(hosts), self._seconds))

    def peer(self, name: str, authority: Authority, hosts: Sequence[str]) -> JSONObject:
        """A server that is a client of its like."""
        key = ec.generate_private_key(ec.SECP256R1())
        usages = KeyUsages(extended=(SERVER_AUTH, CLIENT_AUTH))
        certificate = authority.issue(user_name(hosts[0], ()), key.public_key(), usages, server_names(hosts))
        return self.secret(name, authority, certificate, private_pem(key))

    def client(self, name: str, authority: Authority, user: str) -> JSONObject:
        """A client's."""
        return self.secret(name, authority, *authority.issue_client(user, seconds=self._seconds))

    def signing_key(self, name: str) -> JSONObject:
        """A key that signs tokens."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return self._opaque(name, {"tls.crt": public, "tls.key": private_pem(key)})

    def config(
        self, component: str, authority: Authority, server: str, user: str, groups: Sequence[str] = ()
    ) -> JSONObject:
        """The kubeconfig of a user."""
        certificate, key = authority.issue_client(user, groups, self._seconds)
        config = kubeconfig(server, authority.certificate_pem, user=component, certificate=certificate, key=key)
        return self._opaque(f"{component}-config", {"karmada.config": orjson.dumps(config)})

    def _opaque(self, name: str, content: dict[str, bytes]) -> JSONObject:
        data: dict[str, Any] = {key: base64.b64encode(value).decode() for key, value in content.items() if value}
        metadata = {"name": name, "namespace": self._namespace, "labels": dict(self._labels)}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}
