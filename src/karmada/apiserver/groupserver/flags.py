"""Flags of every program around a group server: how it serves, whom it believes, what older installations pass."""

from argparse import Namespace
from pathlib import Path

from karmada.apiserver.main import etcd_storage
from karmada.apiserver.storage.base import Storage
from karmada.apiserver.storage.urls import storage_at
from karmada.machinery.flags import FlagParser, add_accepted

_ACCEPTED = (
    "audit-log-format",
    "audit-log-maxage",
    "audit-log-maxbackup",
    "audit-log-path",
    "audit-policy-file",
    "authentication-skip-lookup",
    "authentication-tolerate-lookup-failure",
    "authorization-always-allow-paths",
    "enable-priority-and-fairness",
    "requestheader-extra-headers-prefix",
    "requestheader-group-headers",
    "requestheader-username-headers",
    "tls-cipher-suites",
    "tls-min-version",
)


def add_serving(parser: FlagParser) -> None:
    """Flags about certificates, clients and front proxies; read by `trust.trust_of` and `trust.serving_of`."""
    add = parser.add_argument
    add("--authentication-kubeconfig", default="", help="As --kubeconfig, where that is not given.")
    add("--authorization-kubeconfig", default="", help="As --kubeconfig, where that is not given.")
    add("--tls-cert-file", type=Path, help="Serving certificate.")
    add("--tls-private-key-file", type=Path, help="Key of the serving certificate.")
    add("--cert-dir", type=Path, default=Path("apiserver.local.config/certificates"), help="Where made ones are kept.")
    add("--client-ca-file", type=Path, help="CA of clients; what the API server publishes if absent.")
    add("--requestheader-client-ca-file", type=Path, help="CA of the front proxy; as above.")
    add("--requestheader-allowed-names", default="", help="Names of the front proxy, comma-separated; as above.")
    add_accepted(parser, _ACCEPTED)


def add_storage(parser: FlagParser) -> None:
    """Flags about where objects are kept; read by `storage_of`."""
    add = parser.add_argument
    add("--etcd-servers", default="", help="Addresses of etcd, comma-separated.")
    add("--etcd-prefix", default="/karmada", help="Prefix of all keys in etcd; nobody else may use it.")
    add("--etcd-cafile", type=Path, help="CA of the etcd servers.")
    add("--etcd-certfile", type=Path, help="Client certificate for etcd.")
    add("--etcd-keyfile", type=Path, help="Key of that certificate.")
    add("--storage", default="", help="memory:, sqlite:///path or etcd://host:port, in place of --etcd-servers.")


def storage_of(flags: Namespace, what: str) -> Storage:
    """Where flags say that objects are kept; raises ValueError when they do not."""
    if flags.etcd_servers:
        return etcd_storage(flags)
    if not flags.storage:
        raise ValueError(f"--etcd-servers (or --storage) says where {what} are kept: one must be given")
    return storage_at(flags.storage)
