"""Flags of `karmada-apiserver`.

Its own ones say where data lives; all others are kube-apiserver's, so that existing manifests start it unchanged.
Those in `IGNORED` are accepted and have no effect: what they tune does not exist here, or is always so.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from karmada.api.version import VERSION
from karmada.machinery.flags import port
from karmada.machinery.logging import Format

IGNORED = (
    "admission-control-config-file",
    "advertise-address",
    "allow-privileged",
    "apiserver-count",
    "authorization-mode",
    "default-not-ready-toleration-seconds",
    "default-unreachable-toleration-seconds",
    "default-watch-cache-size",
    "delete-collection-workers",
    "disable-admission-plugins",
    "enable-admission-plugins",
    "enable-aggregator-routing",
    "enable-bootstrap-token-auth",
    "enable-garbage-collector",
    "enable-priority-and-fairness",
    "endpoint-reconciler-type",
    "etcd-compaction-interval",
    "etcd-count-metric-poll-period",
    "etcd-servers-overrides",
    "feature-gates",
    "goaway-chance",
    "insecure-port",
    "kubelet-client-certificate",
    "kubelet-client-key",
    "kubelet-preferred-address-types",
    "log-flush-frequency",
    "max-mutating-requests-inflight",
    "max-requests-inflight",
    "min-request-timeout",
    "profiling",
    "request-timeout",
    "requestheader-extra-headers-prefix",
    "requestheader-group-headers",
    "requestheader-username-headers",
    "runtime-config",
    "service-account-lookup",
    "service-account-max-token-expiration",
    "service-node-port-range",
    "shutdown-delay-duration",
    "storage-backend",
    "storage-media-type",
    "tls-cipher-suites",
    "tls-min-version",
    "vmodule",
    "watch-cache",
    "watch-cache-sizes",
)
DEFAULT_PORT = 5443


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    flags = argparse.ArgumentParser(
        prog="karmada-apiserver",
        description="A Kubernetes API server in one process: SQLite by default, etcd where several share one store.",
        allow_abbrev=False,
    )
    flags.add_argument("--version", action="version", version=f"karmada-apiserver {VERSION}")
    flags.add_argument(
        "--data-dir",
        type=Path,
        default=Path("karmada-data"),
        metavar="FOLDER",
        help="keys, the database and the administrator's kubeconfig (default: %(default)s)",
    )
    flags.add_argument(
        "--storage",
        metavar="URL",
        help="memory:, sqlite:///path/to/file or etcd://host:port[,host:port] (default: SQLite in the data folder)",
    )
    flags.add_argument("--bind-address", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    flags.add_argument(
        "--secure-port", type=port, default=DEFAULT_PORT, help="HTTPS port, 0 for a free one (default: %(default)s)"
    )
    flags.add_argument("--kubeconfig-out", type=Path, metavar="FILE", help="where to write the kubeconfig instead")
    flags.add_argument("--external-hostname", default="", help="further name in the certificate and the kubeconfig")
    flags.add_argument("--no-controllers", action="store_true", help="do not run the inherited controllers here")
    flags.add_argument("--tls-cert-file", type=Path, help="serving certificate (default: one of the server's own CA)")
    flags.add_argument("--tls-private-key-file", type=Path, help="key of the serving certificate")
    flags.add_argument("--client-ca-file", type=Path, help="further CA whose client certificates are accepted")
    flags.add_argument(
        "--proxy-client-cert-file", type=Path, help="certificate for aggregated servers, of the CA below"
    )
    flags.add_argument("--proxy-client-key-file", type=Path, help="key of that certificate")
    flags.add_argument("--requestheader-client-ca-file", type=Path, help="CA of front proxies that name the user")
    flags.add_argument("--requestheader-allowed-names", default="", help="names of front proxies, comma-separated")
    flags.add_argument("--token-auth-file", type=Path, help="fixed tokens: token,user,uid,groups per line")
    flags.add_argument("--anonymous-auth", type=_boolean, default=True, metavar="BOOL", help="allow anonymous requests")
    flags.add_argument("--service-account-issuer", default="", help="issuer of service account tokens")
    flags.add_argument("--service-account-signing-key-file", type=Path, help="key that signs service account tokens")
    flags.add_argument(
        "--service-account-key-file", type=Path, action="append", default=[], help="further keys whose tokens count"
    )
    flags.add_argument("--service-cluster-ip-range", default="10.96.0.0/16", help="range of cluster IPs")
    flags.add_argument("--event-ttl", default="1h0m0s", help="how long events are kept (default: %(default)s)")
    flags.add_argument("--audit-log-path", type=Path, help="file of the audit log (default: none is written)")
    flags.add_argument("--etcd-servers", default="", metavar="URLS", help="etcd endpoints; implies etcd storage")
    flags.add_argument("--etcd-prefix", default="/registry", help="prefix of all keys in etcd (default: %(default)s)")
    flags.add_argument("--etcd-cafile", type=Path, help="CA of the etcd servers")
    flags.add_argument("--etcd-certfile", type=Path, help="client certificate for etcd")
    flags.add_argument("--etcd-keyfile", type=Path, help="key of the client certificate for etcd")
    flags.add_argument("--v", "-v", dest="verbosity", type=int, default=0, help="how much to log")
    flags.add_argument(
        "--logging-format", type=Format, choices=list(Format), default=Format.TEXT, help="form of log lines"
    )
    for name in IGNORED:
        flags.add_argument(f"--{name}", nargs="?", action="append", help=argparse.SUPPRESS)
    return flags


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; mistakes end the program with a message and status 2."""
    flags = parser()
    options = flags.parse_args(list(argv))
    if (options.tls_cert_file is None) != (options.tls_private_key_file is None):
        flags.error("--tls-cert-file and --tls-private-key-file must be given together")
    given = (options.proxy_client_cert_file, options.proxy_client_key_file)
    if any(given) and not all((*given, options.requestheader_client_ca_file)):
        flags.error(
            "--proxy-client-cert-file needs --proxy-client-key-file and its CA in --requestheader-client-ca-file"
        )
    if options.storage and options.etcd_servers:
        flags.error("--storage and --etcd-servers exclude each other: both say where objects live")
    return options


def _boolean(text: str) -> bool:
    if text.lower() in ("true", "1", "t"):
        return True
    if text.lower() in ("false", "0", "f"):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
