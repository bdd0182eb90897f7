import json
import stat

import pytest

from karmada.apiserver.audit import AuditLog, AuditRecord, to_event
from karmada.apiserver.auth.model import Attributes, UserInfo
from karmada.apiserver.metrics import RequestKey, RequestMetrics

USER = UserInfo("alice", ("dev",))
SECRET = Attributes("get", "", "v1", "secrets", "", "ns", "s")


def record(attributes=SECRET, code=200, impersonated=None):
    uri = "/api/v1/namespaces/ns/secrets/s"
    return AuditRecord("id", uri, attributes, USER, impersonated, "10.0.0.1", "kubectl", code, 0.0, 1.5, "why")


def test_an_event_says_who_did_what_and_how_it_ended():
    event = to_event(record(code=403, impersonated=UserInfo("bob")))
    assert event["level"] == "Metadata"
    assert event["user"] == {"username": "alice", "groups": ["dev"]}
    assert event["impersonatedUser"] == {"username": "bob"}
    assert event["objectRef"] == {"resource": "secrets", "namespace": "ns", "name": "s", "apiVersion": "v1"}
    assert event["responseStatus"]["code"] == 403
    assert event["stageTimestamp"] == "1970-01-01T00:00:01.500000Z"
    assert event["annotations"]["authorization.k8s.io/decision"] == "forbid"


async def test_lines_reach_a_private_file_and_probes_do_not(tmp_path):
    log = AuditLog(tmp_path / "audit.log")
    log.record(record())
    log.record(record(Attributes("get", path="/healthz")))
    log.close()
    (line,) = (tmp_path / "audit.log").read_text().splitlines()
    assert json.loads(line)["verb"] == "get"
    assert stat.S_IMODE((tmp_path / "audit.log").stat().st_mode) == 0o600


async def test_a_large_log_is_rotated(tmp_path):
    log = AuditLog(tmp_path / "audit.log", rotate_bytes=1000, keep=2)
    for _ in range(10):
        log.record(record())
        log.flush()
    log.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.log", "audit.log.1", "audit.log.2"]


async def test_a_log_that_cannot_be_written_is_counted_not_raised(tmp_path):
    log = AuditLog(tmp_path)
    log.record(record())
    log.close()
    assert log.dropped == 1


@pytest.fixture
def metrics():
    found = RequestMetrics()
    get = RequestKey("GET", "apps", "v1", "deployments", "", "resource")
    found.answered(get, 200, 0.01)
    found.answered(get, 404, 7.0)
    watch = RequestKey("WATCH", "", "v1", "pods", "", "namespace")
    found.opened(watch)
    found.answered(watch, 200, 1000.0)
    found.gauge("apiserver_storage_objects", "Stored objects.", "resource", lambda: {"pods": 3})
    return found


def test_metrics_have_the_names_that_dashboards_know(metrics):
    text = metrics.render().decode()
    labels = 'component="apiserver",group="apps",resource="deployments",scope="resource",subresource="",verb="GET"'
    assert "apiserver_request_total{" in text
    assert 'code="404"' in text
    count = [line for line in text.splitlines() if line.startswith("apiserver_request_duration_seconds_count")]
    (only,) = count
    assert only.endswith(" 2.0")
    assert all(label in only for label in labels.split(","))
    assert 'apiserver_storage_objects{resource="pods"} 3.0' in text
    assert "apiserver_longrunning_requests{" in text
    assert "process_resident_memory_bytes" in text
    metrics.render()
