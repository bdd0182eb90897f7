"""What `karmadactl init` certifies: a serving certificate and a kubeconfig per component, each in a Secret of its own.

The authority's key is in none of them: nothing in the host cluster signs with it, so it stays with whoever installs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from karmada.apiserver.auth.pki import Authority
from karmada.install.certificates import DASHBOARD, Issuer, known_as
from karmada.install.manifests import ETCD_CLIENT, LABELS, PORT, secret, serving_secret

JSONObject = dict[str, Any]
SERVER = "karmada-apiserver"


@dataclass(frozen=True, slots=True)
class Pki:
    """An authority and whom it certifies."""

    authority: Authority = field(repr=False)
    domain: str
    hosts: Sequence[str]
    """Further names of the API server."""
    serving: Sequence[str]
    """Components that are called."""
    seconds: int
    etcd: Sequence[bytes] = field(default=(), repr=False)
    """CA, certificate and key for an etcd elsewhere."""

    def secrets(self, namespace: str) -> list[JSONObject]:
        """Everything, in Secrets."""
        issue = Issuer(namespace, LABELS, self.seconds)

        def names(component: str) -> list[str]:
            inside = f"{component}.{namespace}.svc"
            return [component, f"{component}.{namespace}", inside, f"{inside}.{self.domain}"]

        server = f"https://{SERVER}.{namespace}.svc:{PORT}"
        own = list(dict.fromkeys([*names(SERVER), "127.0.0.1", "localhost", *self.hosts]))
        made = [
            issue.authority("karmada-ca", self.authority),
            issue.server(serving_secret(SERVER), self.authority, own),
            *(
                issue.server(serving_secret(name), self.authority, [*names(name), known_as(name)])
                for name in self.serving
            ),
            issue.server(serving_secret(DASHBOARD), self.authority, [*names(DASHBOARD), "localhost", "127.0.0.1"]),
            *issue.configs(self.authority, server),
            issue.config_of_nobody(DASHBOARD, self.authority, server),
        ]
        if self.etcd:
            files = dict(zip(("ca.crt", "tls.crt", "tls.key"), self.etcd, strict=True))
            made.append(secret(namespace, ETCD_CLIENT, files))
        return made
