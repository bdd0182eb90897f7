"""Documents 000 and 004: tools of single clusters work unchanged. Kustomize is in kubectl; the others need Go once."""

import json

import pytest

pytestmark = pytest.mark.tools

KUSTOMIZATION = """
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [nginx-deployment.yaml, propagation-policy.yaml]
replicas: [{name: nginx, count: 2}]
images: [{name: nginx, newTag: "1.27"}]
"""


def test_kustomize_applies_and_changes_nothing_the_second_time(documents, tmp_path):
    (tmp_path / "nginx-deployment.yaml").write_text(documents.manifest("000-02"))
    (tmp_path / "propagation-policy.yaml").write_text(documents.manifest("000-03"))
    (tmp_path / "kustomization.yaml").write_text(KUSTOMIZATION)
    documents.kubectl("apply", "-k", str(tmp_path))
    documents.eventually(documents.placement, {"member1": 2, "member2": 2})
    documents.eventually(
        lambda: documents.get("deployment", "nginx", context="member1")["spec"]["template"]["spec"]["containers"][0][
            "image"
        ],
        "nginx:1.27",
    )
    version = documents.get("deployment", "nginx")["metadata"]["generation"]
    assert "deployment.apps/nginx unchanged" in documents.kubectl("apply", "-k", str(tmp_path))
    assert documents.get("deployment", "nginx")["metadata"]["generation"] == version
    documents.kubectl("delete", "-k", str(tmp_path))


CHART = """
apiVersion: v2
name: shop
version: 0.1.0
"""


def test_helm_installs_upgrades_rolls_back_and_uninstalls(documents, helm, tmp_path):
    templates = tmp_path / "templates"
    templates.mkdir()
    (tmp_path / "Chart.yaml").write_text(CHART)
    (tmp_path / "values.yaml").write_text("replicas: 1\n")
    replicas = {"replicas: 1": "replicas: {{ .Values.replicas }}"}
    (templates / "deployment.yaml").write_text(documents.manifest("000-02", replicas))
    (templates / "policy.yaml").write_text(documents.manifest("000-03"))
    chart = str(tmp_path)
    documents.run(helm, "install", "shop", chart)
    documents.eventually(documents.placement, {"member1": 1, "member2": 1})
    assert "successfully rolled out" in documents.kubectl("rollout", "status", "deployment/nginx", "--timeout=20s")
    documents.run(helm, "upgrade", "shop", chart, "--set", "replicas=3")
    documents.eventually(documents.placement, {"member1": 3, "member2": 3})
    documents.run(helm, "rollback", "shop", "1")
    documents.eventually(documents.placement, {"member1": 1, "member2": 1})
    documents.run(helm, "uninstall", "shop")
    missing = ("--context", "member1", "get", "deployment", "nginx", "--ignore-not-found")
    documents.eventually(lambda: documents.kubectl(*missing) == "")


class Folder:
    """The nginx example as a folder of a repository that an engine keeps a cluster in step with."""

    def __init__(self, documents, path):
        self._documents = documents
        self.path = path
        path.mkdir()
        for block in ("000-02", "000-03"):
            self.put(block)

    def put(self, block):
        (self.path / f"{block}.yaml").write_text(self._documents.manifest(block))

    def remove(self, block):
        (self.path / f"{block}.yaml").unlink()

    def versions(self):
        """What changes when somebody changes the objects; the Deployment's version changes with its status too."""
        deployment, policy = self._documents.get("deployment", "nginx"), self._documents.get("pp", "nginx-propagation")
        return deployment["metadata"]["generation"], policy["metadata"]["resourceVersion"]


def gone_from(documents, member):
    missing = ("--context", member, "get", "deployment", "nginx", "--ignore-not-found")
    documents.eventually(lambda: documents.kubectl(*missing) == "")


def test_the_engine_of_argo_cd_syncs_changes_nothing_twice_and_prunes(documents, engine, tmp_path):
    program = engine("argocd")
    folder = Folder(documents, tmp_path / "repository")

    def sync():
        return json.loads(documents.run(program, str(folder.path), seconds=90).splitlines()[0])

    for _ in range(2):
        first = sync()
        assert first["modified"]
        assert set(first["results"].values()) == {
            "Synced: deployment.apps/nginx created",
            "Synced: propagationpolicy.policy.karmada.io/nginx-propagation created",
        }
        assert first["health"]["Deployment/nginx"] == "Healthy"
        documents.eventually(documents.placement, {"member1": 1, "member2": 1})
        before = folder.versions()
        second = sync()
        assert not second["modified"]
        assert second["results"]["Deployment/nginx"] == "Synced: deployment.apps/nginx unchanged"
        assert folder.versions() == before

        folder.remove("000-02")
        folder.remove("000-03")
        pruned = {"Deployment/nginx": "Pruned: pruned", "PropagationPolicy/nginx-propagation": "Pruned: pruned"}
        assert sync()["results"] == pruned
        gone_from(documents, "member1")
        folder.put("000-02")
        folder.put("000-03")


def test_the_engine_of_flux_applies_changes_nothing_twice_and_prunes(documents, engine, tmp_path):
    folder = Folder(documents, tmp_path / "repository")
    program = engine("flux")
    inventory = str(tmp_path / "inventory.yaml")
    deployment, policy = "Deployment/default/nginx", "PropagationPolicy/default/nginx-propagation"

    def sync():
        return json.loads(documents.run(program, str(folder.path), inventory, seconds=90).splitlines()[0])

    for _ in range(2):
        assert sync() == {deployment: "created", policy: "created"}
        documents.eventually(documents.placement, {"member1": 1, "member2": 1})
        documents.eventually(lambda: documents.get("deployment", "nginx")["status"]["readyReplicas"], 2)
        before = folder.versions()
        assert sync() == {deployment: "unchanged", policy: "unchanged"}
        assert folder.versions() == before

        folder.remove("000-02")
        assert sync() == {deployment: "deleted", policy: "unchanged"}
        gone_from(documents, "member1")
        folder.remove("000-03")
        assert sync() == {policy: "deleted"}
        folder.put("000-02")
        folder.put("000-03")
