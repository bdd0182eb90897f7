"""What the flags of the controller manager come to."""

from dataclasses import fields

import pytest

from karmada.api import yaml
from karmada.api.feature_gates import DEFAULTS
from karmada.controllers.cluster_monitor import MonitorOptions
from karmada.controllers.context import Concurrency
from karmada.controllers.flags import ACCEPTED, NAMES, PROGRAM, options_of, parser, without_effect
from karmada.controllers.idle_kinds import ACTING, BESIDE, NOBODY, idle_kinds
from karmada.controllers.main import main
from karmada.controllers.quota_enforcement import QuotaOptions
from karmada.controllers.registry import CONTROLLERS
from karmada.controllers.selection import Selection
from karmada.membership.component_roles import controller_manager_in_members
from karmada.standalone.control_plane_main import parser as embedded_parser

KINDS = {
    "templates": ["resource-template"],
    "policies": ["propagation-policy", "cluster-propagation-policy"],
    "bindings": ["resourcebinding", "clusterresourcebinding"],
    "works": ["work"],
    "dependencies": ["dependent-resource"],
    "clusters": ["cluster"],
    "namespaces": ["namespace"],
}


def test_the_rights_for_members_behind_tunnels_are_printed_without_a_control_plane(capsys):
    assert main(["--print-member-rights"]) == 0
    assert list(yaml.load_all(capsys.readouterr().out)) == controller_manager_in_members()
    verbs = {verb for rule in controller_manager_in_members()[0]["rules"] for verb in rule["verbs"]}
    assert verbs == {"get", "list"}


def test_every_flag_for_workers_counts():
    assert [field.name for field in fields(Concurrency)] == list(KINDS)
    for name, kinds in KINDS.items():
        for kind in kinds:
            options = options_of(parser().parse([f"--concurrent-{kind}-syncs=9"])).options.of(Concurrency)
            assert options == Concurrency(**{name: 9}), kind


def test_the_period_of_quotas_counts():
    options = options_of(parser().parse(["--federated-resource-quota-sync-period=7s"]))
    assert options.options.of(QuotaOptions).period == 7


def test_karmada_up_takes_every_flag_of_the_controllers_and_refuses_those_of_a_component():
    given = embedded_parser().parse(["--data=d", "--cluster-monitor-grace-period=7s", "--controllers=*,-remedy"])
    options = options_of(given)
    assert options.options.of(MonitorOptions).grace == 7
    assert not options.selection.enabled("remedy")
    for flag in ("--leader-elect=false", "--kubeconfig=k", "--metrics-bind-address=0"):
        with pytest.raises(SystemExit):
            embedded_parser().parse(["--data=d", flag])


def test_a_flag_of_a_controller_that_does_not_run_has_no_effect_and_the_log_says_so():
    given = parser().parse(
        ["--horizontal-pod-autoscaler-tolerance=0.2", "--controllers=*,-cluster", "--cluster-monitor-period=1s"]
    )
    name = "federatedHorizontalPodAutoscaler"
    monitor = "--cluster-monitor-period has no effect: cluster does not run"
    autoscaler = f"--horizontal-pod-autoscaler-tolerance has no effect: {name} does not run"
    assert without_effect(given, {"binding"}) == [monitor, autoscaler]
    assert without_effect(given, {name}) == [monitor]
    assert without_effect(given, {"cluster", name}) == []


def test_the_program_has_the_flags_of_a_component_whose_replicas_elect_a_leader_or_share_the_work():
    given = parser().parse(
        ["--leader-elect=false", "--shards=3", "--cluster-api-kubeconfig=k", "--cluster-api-context=c"]
    )
    assert (given.leader_elect, given.shards) == (False, 3)
    assert (given.cluster_api_kubeconfig, given.cluster_api_context) == ("k", "c")
    default = parser().parse([])
    assert (default.leader_elect, default.leader_elect_resource_name, default.shards) == (True, PROGRAM, 1)
    assert (default.cluster_api_kubeconfig, default.cluster_api_context) == ("", "")
    assert not default.print_member_rights


def test_flags_of_other_versions_are_accepted():
    parser().parse([f"--{name}=1" for name in ACCEPTED])


def test_names_in_the_registry_are_unique_and_each_option_belongs_to_one_controller():
    names = [registered.name for registered in CONTROLLERS]
    options = [kind for registered in CONTROLLERS for kind in registered.options]
    assert len(set(names)) == len(names)
    assert len(set(options)) == len(options)


def test_a_gate_that_changes_nothing_is_reported_when_it_is_turned_on() -> None:
    given = parser().parse(["--feature-gates=ContextualLogging=true,Failover=true"])
    assert without_effect(given, ()) == ["the feature gate ContextualLogging has no effect in this version"]
    assert without_effect(parser().parse(["--feature-gates=ContextualLogging=false"]), ()) == []


def test_every_kind_that_waits_for_a_controller_names_one_that_is_registered() -> None:
    everything = Selection(("*", *NAMES))
    on = DEFAULTS.with_overrides({"AllAlpha": True, "AllBeta": True})
    assert {registered.name for registered in CONTROLLERS} >= set(ACTING.values())
    assert idle_kinds(everything, on, ()).keys() == NOBODY.keys() | BESIDE.keys()
    assert not idle_kinds(everything, on, {"gateway", "search"}).keys() & BESIDE.keys()
    off = idle_kinds(Selection(("-remedy", "*")), DEFAULTS, {"gateway", "search"})
    service = ("networking.karmada.io", "multiclusterservices")
    taints = ("policy.karmada.io", "clustertaintpolicies")
    assert off.keys() == {("remedy.karmada.io", "remedies"), service, taints} | NOBODY.keys()
    assert off["remedy.karmada.io", "remedies"] == "--controllers turns the controller remedy off"
    assert off[service] == "the feature gate MultiClusterService is off"
