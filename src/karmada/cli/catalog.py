"""Every command, in the order and groups of `karmadactl --help`. A command's module is imported when it is used."""

from importlib import import_module
from typing import NamedTuple

from karmada.cli.command import Command


class Entry(NamedTuple):
    """A command in the list; its module is named like it."""

    name: str
    summary: str


class Group(NamedTuple):
    """Commands that belong together."""

    title: str
    entries: tuple[Entry, ...]


GROUPS = (
    Group(
        "Basic commands",
        (
            Entry("explain", "Show the fields of a kind and what they mean"),
            Entry("get", "Show objects of the control plane and of its members"),
            Entry("create", "Create an object from a file or from arguments"),
            Entry("delete", "Delete objects by file, name or selector"),
            Entry("edit", "Change an object in an editor"),
        ),
    ),
    Group(
        "Understanding what happens",
        (
            Entry("why", "Say why a workload is (not) where it should be"),
            Entry("simulate", "Show what would be placed where, without writing anything"),
            Entry("history", "Show when and why workloads moved between clusters"),
            Entry("tree", "Show everything that belongs to a workload, with its health"),
            Entry("search", "Find objects of all clusters by their words"),
            Entry("rollout", "Follow the rollout of a workload in all clusters"),
            Entry("check", "Find what is wrong with the control plane and say how to mend it"),
        ),
    ),
    Group(
        "Cluster registration",
        (
            Entry("init", "Install a control plane into a host cluster"),
            Entry("deinit", "Remove a control plane from a host cluster"),
            Entry("addons", "List, enable and disable optional components"),
            Entry("certs", "Show and renew the certificates of a control plane"),
            Entry("join", "Make a cluster a member that the control plane reaches by itself (Push)"),
            Entry("unjoin", "Take a Push cluster out of the federation"),
            Entry("token", "Manage the tokens with which clusters register"),
            Entry("register", "Make a cluster a member that connects by itself (Pull)"),
            Entry("unregister", "Take a Pull cluster out of the federation"),
        ),
    ),
    Group(
        "Cluster management",
        (
            Entry("cordon", "Let no new workloads be placed on a cluster"),
            Entry("uncordon", "Let workloads be placed on a cluster again"),
            Entry("taint", "Change the taints of clusters"),
            Entry("drain", "Move everything that may move away from a cluster"),
            Entry("rebalance", "Place workloads anew, as if they had just been created"),
        ),
    ),
    Group(
        "Troubleshooting",
        (
            Entry("attach", "Attach to a process in a container of a member"),
            Entry("logs", "Print the logs of containers of members"),
            Entry("exec", "Run a command in a container of a member"),
            Entry("describe", "Show an object in detail, with its events"),
            Entry("interpret", "Try out customisations of the resource interpreter"),
        ),
    ),
    Group(
        "Advanced commands",
        (
            Entry("apply", "Apply files, and propagate what is in them if asked"),
            Entry("promote", "Take over an object of a member into the control plane"),
            Entry("top", "Show the use of CPU and memory in the members"),
            Entry("patch", "Change fields of an object"),
        ),
    ),
    Group(
        "Settings",
        (
            Entry("label", "Change the labels of objects"),
            Entry("annotate", "Change the annotations of objects"),
            Entry("completion", "Print the completion script of a shell"),
        ),
    ),
    Group(
        "Other commands",
        (
            Entry("api-resources", "List the kinds a server has"),
            Entry("api-versions", "List the API versions a server has"),
            Entry("version", "Print the version"),
            Entry("options", "List the flags every command has"),
        ),
    ),
)

NAMES = tuple(entry.name for group in GROUPS for entry in group.entries)


def load(name: str) -> Command:
    """The command of a name in the list."""
    command: Command = import_module(f"karmada.cli.commands.{name.replace('-', '_')}").COMMAND
    return command
