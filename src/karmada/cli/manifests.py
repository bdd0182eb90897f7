"""Prints manifests, to be applied with kubectl: `karmada manifests host|control-plane|certificates|operator`.

`host` is what the chart makes, for the host cluster. `certificates` are the Secrets it mounts: applied before it, once,
and kept safe. `control-plane` is for Karmada's own API server, with the CA from the Secret `karmada-ca`; with `--host`,
clusters can register there by tokens.
`operator` is karmada-operator for the host cluster, with its kind and rights: it does all of that by itself.
`values-schema` is the JSON Schema that lies in the chart.
"""

import argparse
import base64
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from karmada.api.name_rules import dns_label, is_host
from karmada.install.certificates import certificates
from karmada.install.chart import NAMESPACE, ChartError, check, default_values, merge, needed, render
from karmada.install.control_plane import control_plane
from karmada.install.operator import operator
from karmada.install.values_schema import values_schema
from karmada.machinery.os_errors import spelled


def main(argv: Sequence[str] | None = None) -> int:
    """Print one set of manifests; the exit code."""
    parser = _parser()
    flags = parser.parse_args(argv)
    if flags.what == "control-plane" and not flags.ca:
        parser.error("control-plane needs --ca: without it the API server could call neither webhooks nor APIServices")
    if flags.what == "values-schema":
        print(json.dumps(values_schema(default_values()), indent=2))
        return 0
    values = default_values(*(["values-ha.yaml"] if flags.ha else []))
    try:
        for path in flags.values:
            over = yaml.safe_load(path.read_text())
            check({} if over is None else over)
            values = merge(values, over or {})
        if flags.what == "host":
            objects = render(values, flags.namespace)
        elif flags.what == "operator":
            image = f"{needed(values, 'imageRegistry')}{needed(values, 'image')}"
            objects = operator(flags.namespace, image, 2 if flags.ha else 1)
        elif flags.what == "control-plane":
            objects = control_plane(flags.ca, flags.namespace, f"https://{flags.host[0]}:5443" if flags.host else "")
        else:
            domain, members = needed(values, "clusterDomain"), needed(values, "etcd", "members")
            objects, _ = certificates(flags.namespace, domain, members, flags.host)
    except (ChartError, OSError, yaml.YAMLError) as error:
        print(f"error: {spelled(error)}", file=sys.stderr)
        return 1
    print(text(objects), end="")
    return 0


def text(objects: Sequence[dict[str, object]]) -> str:
    """Objects as one YAML stream."""
    return "".join("---\n" + yaml.safe_dump(tree, sort_keys=False, width=1000) for tree in objects)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("karmada manifests", description=__doc__)
    parser.add_argument("what", choices=("host", "control-plane", "certificates", "operator", "values-schema"))
    parser.add_argument("--ha", action="store_true", help="three API servers and etcd members, two of everything else")
    parser.add_argument("--values", type=Path, action="append", default=[], help="file of values, as for the chart")
    parser.add_argument(
        "--namespace", type=_namespace, default=NAMESPACE, help="namespace in the host cluster (default: %(default)s)"
    )
    parser.add_argument("--ca", type=_ca, help="CA of the serving certificates, PEM in base64")
    parser.add_argument(
        "--host", type=_host, action="append", default=[], help="further name or address of the API server"
    )
    return parser


def _namespace(text: str) -> str:
    if problems := dns_label(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no namespace: {problems[0]}")
    return text


def _ca(text: str) -> str:
    try:
        if not base64.b64decode(text, validate=True):
            raise ValueError
    except ValueError:
        remedy = "it is in the Secret karmada-ca, under tls.crt"
        raise argparse.ArgumentTypeError(f"{text!r} is no certificate in base64: {remedy}") from None
    return text


def _host(text: str) -> str:
    if not is_host(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no name or address: write it without https:// and without a port"
        )
    return text


if __name__ == "__main__":
    sys.exit(main())
