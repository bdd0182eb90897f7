"""`karmada monitoring DIR`: the files with which Prometheus and Grafana watch the federation of this machine.

    DIR/prometheus.yml      scrapes the control plane, and the gateway if it runs; reads alerts.yml
    DIR/alerts.yml          alert rules
    DIR/boards/*.json       Grafana boards
    DIR/pki/                the certificate of a user who may read metrics and health, nothing else (keys 0600)

Without a federation only rules and boards are written: they fit every control plane, scraped by whatever means.
"""

import shutil
from pathlib import Path

import orjson

from karmada.api import yaml
from karmada.apiserver.auth.pki import Authority, write_file
from karmada.machinery.http.kubeconfig import KubeconfigError, load
from karmada.machinery.transport import JSONObject
from karmada.standalone.layout import Layout, LayoutError
from karmada.standalone.monitoring.boards import boards, dashboard

USER, GROUP = "karmada-monitoring", "system:monitoring"
"""Kubernetes gives the group a role of that name: /metrics, /healthz, /livez, /readyz."""
CONTEXT = "karmada-apiserver"
ALERTS = "alerts.yml"
INTERVAL = "15s"


def write(layout: Layout, folder: Path, interval: str = INTERVAL) -> list[Path]:
    """Write the files, over older ones; which there are."""
    try:
        return _write(layout, folder, interval)
    except OSError as error:
        raise LayoutError(f"cannot write {error.filename or folder}: {error.strerror}") from error


def _write(layout: Layout, folder: Path, interval: str) -> list[Path]:
    (folder / "boards").mkdir(parents=True, exist_ok=True)
    written = [folder / ALERTS]
    shutil.copyfile(Path(__file__).with_name(ALERTS), written[0])
    for board in boards():
        path = folder / "boards" / f"{board.uid}.json"
        path.write_bytes(orjson.dumps(dashboard(board), option=orjson.OPT_INDENT_2) + b"\n")
        written.append(path)
    keys = layout.control_plane / "pki"
    if (keys / "ca.key").exists():
        pki = folder / "pki"
        pki.mkdir(exist_ok=True, mode=0o700)
        authority = Authority.load((keys / "ca.crt").read_bytes(), (keys / "ca.key").read_bytes())
        certificate, key = authority.issue_client(USER, [GROUP])
        write_file(pki / "ca.crt", authority.certificate_pem)
        write_file(pki / "client.crt", certificate)
        write_file(pki / "client.key", key, 0o600)
        path = folder / "prometheus.yml"
        path.write_text(yaml.dump(configuration(_address(layout), _gateway(layout), interval)))
        written.append(path)
    return written


def configuration(server: str, gateway: str, interval: str) -> JSONObject:
    """What Prometheus reads; paths are relative to its file."""
    tls = {"ca_file": "pki/ca.crt", "cert_file": "pki/client.crt", "key_file": "pki/client.key"}
    jobs: list[JSONObject] = [
        {
            "job_name": "karmada-control-plane",
            "scheme": "https",
            "tls_config": tls,
            "static_configs": [{"targets": [server]}],
        }
    ]
    if gateway:
        jobs.append({"job_name": "karmada-gateway", "static_configs": [{"targets": [gateway]}]})
    timing = {"scrape_interval": interval, "evaluation_interval": interval}
    return {"global": timing, "rule_files": [ALERTS], "scrape_configs": jobs}


def _address(layout: Layout) -> str:
    """Host and port of the control plane."""
    try:
        return load([layout.kubeconfig]).target(CONTEXT).server.partition("://")[2].rstrip("/")
    except KubeconfigError as error:
        remedy = f"start it with `{layout.command('up')}`"
        raise LayoutError(f"the federation's address is not known: {error}; {remedy}") from error


def _gateway(layout: Layout) -> str:
    try:
        return layout.gateway_metrics.read_text().strip()
    except OSError:
        return ""
