"""Which bindings are looked at again when Works, clusters, override policies or bindings change."""

from types import SimpleNamespace

import msgspec
import orjson
import pytest
from tests.controllers.changes import change, item
from tests.growth import work as work_of

from karmada.api.cluster.v1alpha1 import Cluster, ClusterStatus
from karmada.api.meta import Condition, ObjectMeta
from karmada.api.policy.v1alpha1 import ClusterOverridePolicy, OverridePolicy, OverrideSpec, ResourceSelector
from karmada.api.policy.v1alpha1.placement import Placement, ReplicaSchedulingStrategy
from karmada.api.work.v1alpha1 import Work, WorkSpec
from karmada.api.work.v1alpha2 import (
    BindingSnapshot,
    ClusterResourceBinding,
    ObjectReference,
    ResourceBinding,
    ResourceBindingSpec,
    TargetCluster,
)
from karmada.controllers.binding_triggers import BindingTriggers, spec_changed
from karmada.controllers.bindings import BindingKey, key_of
from karmada.machinery.codec import structs
from karmada.machinery.informers.cache import Cache, Change, Item, Key

SPACE = "karmada-es-m1"


def binding(namespace, kind, name, api_version="v1", clusters=("m1",), **spec):
    resource = ObjectReference(api_version=api_version, kind=kind, namespace=namespace, name=name)
    whole = ResourceBindingSpec(resource=resource, clusters=tuple(TargetCluster(name=c) for c in clusters), **spec)
    made = ResourceBinding if namespace else ClusterResourceBinding
    return made(metadata=ObjectMeta(namespace=namespace, name=name), spec=whole)


WEB = binding("default", "Deployment", "web", "apps/v1")
SETTINGS = binding("default", "ConfigMap", "settings", clusters=())
ELSEWHERE = binding("other", "ConfigMap", "settings")
ROLE = binding("", "ClusterRole", "role", "rbac.authorization.k8s.io/v1")
ALL = [WEB, SETTINGS, ELSEWHERE, ROLE]


class Cached:
    """Bindings of one kind in a cache; `broken` cannot be read."""

    has_synced = True

    def __init__(self, kind, bindings, broken=()):
        self._cache = Cache(structs(kind))
        self.add_index, self.index_values = self._cache.add_index, self._cache.index_values
        self.indexed_items = self._cache.indexed
        items = [Item(key, "u", "1", b'{"spec": 1}', structs(kind)) for key in broken]
        list(self._cache.replace([*items, *map(item, bindings)], "1"))


class Known:
    """Bindings in caches."""

    def __init__(self, bindings, has_synced=True, broken=()):
        self._found = {key_of(binding): binding for binding in bindings}
        near = [binding for binding in bindings if binding.metadata.namespace]
        self.namespaced = Cached(ResourceBinding, near, broken)
        self.wide = Cached(ClusterResourceBinding, [binding for binding in bindings if binding not in near])
        self.wide.has_synced = has_synced
        self.informers = (self.namespaced, self.wide)

    def get(self, key):
        return self._found.get(key)


def triggers(bindings=ALL, has_synced=True, leaving=()):
    queued = []
    gone = {name: ObjectMeta(name=name, deletion_timestamp="2020-01-01T00:00:00Z") for name in leaving}
    clusters = {name: Cluster(metadata=gone.get(name, ObjectMeta(name=name))) for name in ("m1", "m2")}
    informer = SimpleNamespace(has_synced=True, get=clusters.get)
    return BindingTriggers(Known(bindings, has_synced), informer, queued.append), queued


def policy(*selectors, namespace="default"):
    made = OverridePolicy if namespace else ClusterOverridePolicy
    metadata = ObjectMeta(namespace=namespace, name="p")
    return made(metadata=metadata, spec=OverrideSpec(resource_selectors=selectors))


def selector(kind="ConfigMap", api_version="v1", **fields):
    return ResourceSelector(api_version=api_version, kind=kind, **fields)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, policy(), [WEB, SETTINGS], id="everything in its namespace"),
        pytest.param(policy(), None, [WEB, SETTINGS], id="it goes"),
        pytest.param(None, policy(namespace=""), ALL, id="everything"),
        pytest.param(None, policy(selector()), [SETTINGS], id="a kind"),
        pytest.param(None, policy(selector(api_version="v2")), [], id="another version"),
        pytest.param(None, policy(selector(name="settings")), [SETTINGS], id="a name"),
        pytest.param(None, policy(selector(name="another")), [], id="another name"),
        pytest.param(None, policy(selector(namespace="default")), [SETTINGS], id="its namespace"),
        pytest.param(None, policy(selector(namespace="other")), [], id="another namespace"),
        pytest.param(None, policy(selector(namespace="other"), namespace=""), [ELSEWHERE], id="wide, of a namespace"),
        pytest.param(
            None, policy(selector("ClusterRole", ROLE.spec.resource.api_version), namespace=""), [ROLE], id="wide"
        ),
        pytest.param(
            policy(selector("Deployment", "apps/v1")), policy(selector()), [WEB, SETTINGS], id="what it chose before"
        ),
    ],
)
def test_an_override_policy_wakes_the_bindings_whose_templates_it_chooses_or_chose(old, new, expected):
    found, queued = triggers()
    found.overrides_changed([change(old, new)])
    assert queued == [key_of(binding) for binding in expected]


def test_an_override_policy_that_says_the_same_wakes_nobody():
    found, queued = triggers()
    found.overrides_changed([change(policy(), policy())])
    assert queued == []


def test_a_binding_that_cannot_be_read_keeps_an_override_policy_from_no_other():
    queued = []
    known = Known(ALL, broken=[Key("default", "broken")])
    BindingTriggers(known, None, queued.append).overrides_changed([change(None, policy())])
    assert queued == [key_of(WEB), key_of(SETTINGS)]


def test_bindings_are_not_compared_with_every_selector_of_an_override_policy():
    def measured(count):
        found, queued = triggers([binding("default", "ConfigMap", f"c{number}") for number in range(count)])
        policy_of_many = policy(*(selector(name=f"other{number}") for number in range(count)))
        made = change(None, policy_of_many)

        def woken():
            found.overrides_changed([made])
            return len(queued)

        return work_of(woken)

    assert measured(200).calls < 3 * measured(100).calls


@pytest.mark.parametrize(
    "chosen",
    [selector(name="c0"), selector("Secret"), selector(name="gone")],
    ids=["one", "another kind", "none"],
)
def test_an_override_policy_looks_at_no_binding_but_those_it_may_choose(chosen):
    def measured(count):
        found, _ = triggers([binding("default", "ConfigMap", f"c{number}") for number in range(count)])
        made = change(None, policy(chosen))

        def woken():
            found.overrides_changed([made])
            return 0

        return work_of(woken).calls

    assert measured(400) == measured(4)


def test_override_policies_of_the_first_load_wake_nobody_nor_do_any_before_bindings_are_loaded():
    found, queued = triggers()
    found.overrides_changed([change(None, policy(), initial=True), change(None, policy(selector()))])
    assert queued == [key_of(SETTINGS)]
    early, queued = triggers(has_synced=False)
    early.overrides_changed([change(None, policy())])
    assert queued == []


def work(owner=WEB, namespace=SPACE, **metadata):
    noted = {
        "resourcebinding.karmada.io/namespace": owner.metadata.namespace,
        "resourcebinding.karmada.io/name": owner.metadata.name,
    }
    metadata = ObjectMeta(namespace=namespace, name="w", annotations=noted, **metadata)
    return Work(metadata=metadata, spec=WorkSpec())


def test_a_work_that_was_deleted_here_wakes_its_binding_once_when_it_is_gone():
    found, queued = triggers()
    found.leaving.add("u")
    left = work(SETTINGS)
    found.works_changed([change(left, work(SETTINGS, deletion_timestamp="2020-01-01T00:00:00Z"))])
    assert queued == []
    found.works_changed([change(left, None)])
    assert queued == [key_of(SETTINGS)]
    found.works_changed([change(left, None)])
    assert queued == [key_of(SETTINGS)]


def test_who_waits_for_the_place_of_a_work_is_woken_once_when_it_is_gone():
    found, queued = triggers()
    other = binding("other", "ConfigMap", "gone")
    found.blocked[Key(SPACE, "w")] = {key_of(WEB), key_of(SETTINGS)}
    found.works_changed([change(work(other), work(other))])
    assert queued == []
    found.works_changed([change(work(other), None)])
    assert queued == [key_of(SETTINGS), key_of(WEB)]
    found.works_changed([change(work(other), None)])
    assert len(queued) == 2


REQUIRED = binding(
    "default",
    "ConfigMap",
    "required",
    clusters=(),
    required_by=(BindingSnapshot(namespace="default", name="web", clusters=(TargetCluster(name="m1"),)),),
)


@pytest.mark.parametrize("cluster", ["m1", "m2"])
def test_a_work_that_somebody_deleted_stays_away(cluster):
    found, queued = triggers()
    found.works_changed([change(work(WEB, f"karmada-es-{cluster}"), None)])
    assert queued == []


def test_a_binding_that_lost_its_work_with_a_cluster_that_left_is_woken_when_the_cluster_is_back():
    found, queued = triggers(leaving=("m1",))
    found.works_changed([change(work(WEB), None)])
    assert queued == []
    gone = ObjectMeta(name="m1", deletion_timestamp="2020-01-01T00:00:00Z")
    assert found.cluster_changed(change(Cluster(metadata=gone), Cluster(metadata=gone))) == []
    assert found.cluster_changed(change(Cluster(metadata=gone), None)) == []
    assert found.cluster_changed(change(None, Cluster(metadata=ObjectMeta(name="m1")))) == [key_of(WEB)]


def test_before_bindings_are_loaded_a_work_wakes_none_as_each_is_looked_at_then():
    found, queued = triggers(has_synced=False)
    found.works_changed([change(work(WEB), None), change(None, work(WEB, "karmada-es-m2"))])
    assert queued == []


@pytest.mark.parametrize(
    ("appeared", "initial", "expected"),
    [
        pytest.param(work(WEB), False, [], id="wanted"),
        pytest.param(work(REQUIRED), False, [], id="wanted by another"),
        pytest.param(work(WEB, "karmada-es-m2"), False, [WEB], id="of a cluster that was left"),
        pytest.param(work(SETTINGS), False, [SETTINGS], id="of a binding without clusters"),
        pytest.param(work(SETTINGS), True, [], id="there at the start"),
        pytest.param(work(binding("default", "ConfigMap", "gone")), False, [], id="of a binding that is gone"),
    ],
)
def test_a_work_that_shows_late_wakes_its_binding_if_it_is_not_wanted(appeared, initial, expected):
    found, queued = triggers([*ALL, REQUIRED])
    found.works_changed([change(None, appeared, initial)])
    found.works_changed([change(appeared, appeared)])
    assert queued == [key_of(binding) for binding in expected]


def test_a_work_that_cannot_be_read_wakes_its_binding():
    found, queued = triggers()
    good = item(work(SETTINGS))
    body = orjson.dumps(orjson.loads(good.body) | {"spec": {"suspendDispatching": 7}})
    bad = Item(good.key, "u", "2", body, structs(Work))
    with pytest.raises(ValueError, match="suspendDispatching"):
        assert bad.value
    found.works_changed([Change(good, bad)])
    assert queued == [key_of(SETTINGS)]


def test_what_a_member_reports_wakes_the_bindings_that_move():
    found, queued = triggers()
    found.moving.add(key_of(WEB))
    found.works_changed([change(work(SETTINGS), work(SETTINGS)), change(work(WEB), work(WEB))])
    assert queued == [key_of(WEB)]
    found.works_changed([change(None, work(WEB))])
    assert queued == [key_of(WEB)]
    found.works_changed([change(work(WEB, "karmada-es-m2"), None)])
    assert queued == [key_of(WEB)] * 2


def cluster(ready):
    condition = Condition(type="Ready", status=ready, reason="R", message="")
    return Cluster(metadata=ObjectMeta(name="m1"), status=ClusterStatus(conditions=(condition,)))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, cluster("False"), [SETTINGS, WEB], id="it comes"),
        pytest.param(cluster("False"), cluster("True"), [SETTINGS, WEB], id="it is ready"),
        pytest.param(cluster("True"), cluster("True"), [SETTINGS], id="nothing that moves wait for"),
        pytest.param(cluster("True"), None, [], id="it is gone"),
    ],
)
def test_a_cluster_wakes_who_waited_for_it_once_and_who_moves(old, new, expected):
    found, _ = triggers()
    found.without["m1"] = {key_of(SETTINGS)}
    found.without["m2"] = {key_of(ELSEWHERE)}
    found.moving.add(key_of(WEB))
    assert found.cluster_changed(change(old, new)) == [key_of(binding) for binding in expected]
    again = [key_of(WEB)] if WEB in expected else []
    assert found.cluster_changed(change(old, new)) == again
    assert "m2" in found.without


def test_a_cluster_that_nobody_waits_for_wakes_nobody():
    found, _ = triggers()
    assert found.cluster_changed(change(cluster("False"), cluster("True"))) == []


def with_metadata(spec=WEB.spec, **metadata):
    return ResourceBinding(metadata=ObjectMeta(namespace="default", name="web", **metadata), spec=spec)


def with_spec(**changes):
    return with_metadata(msgspec.structs.replace(WEB.spec, **changes), generation=2)


def placed(kind):
    """A placement that gives clusters the same replicas, or a share."""
    return Placement(replica_scheduling=ReplicaSchedulingStrategy(replica_scheduling_type=kind))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, with_metadata(generation=1), True, id="new"),
        pytest.param(with_metadata(generation=1), None, True, id="gone"),
        pytest.param(with_metadata(generation=1), with_spec(replicas=7), True, id="spec"),
        pytest.param(with_metadata(generation=1), with_spec(placement=placed("Duplicated")), False, id="placement"),
        pytest.param(with_metadata(generation=1), with_spec(placement=placed("Divided")), True, id="divided"),
        pytest.param(
            with_metadata(generation=1), with_spec(placement=placed("Duplicated"), replicas=7), True, id="both"
        ),
        pytest.param(
            with_metadata(generation=1),
            with_metadata(generation=1, deletion_timestamp="2020-01-01T00:00:00Z"),
            True,
            id="deleted",
        ),
        pytest.param(with_metadata(generation=1), with_metadata(generation=1, labels={"a": "b"}), False, id="labels"),
    ],
)
def test_a_binding_is_looked_at_again_when_it_changed_in_what_works_have(old, new, expected):
    assert spec_changed(change(old, new)) == ([BindingKey("default", "web")] if expected else [])
