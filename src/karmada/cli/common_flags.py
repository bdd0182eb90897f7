"""Flags that several commands share, under the names and defaults the reference gives them."""

from karmada.cli.flags import Flag, between, duration, one_of

MOST_REPLICAS = 2**31 - 1
KUBECONFIG = Flag("kubeconfig", "", "Path of the kubeconfig of the control plane.")
KARMADA_CONTEXT = Flag("karmada-context", "", "Context of the control plane in the kubeconfig.")
CONNECTION = (KUBECONFIG, KARMADA_CONTEXT)
NAMESPACE = Flag("namespace", "", "Namespace to look in; that of the context if left out.", "n")
ALL_NAMESPACES = Flag("all-namespaces", False, "Look in all namespaces.", "A")
SELECTOR = Flag("selector", "", "Label selector: key1=value1,key2 in (a,b),!key3.", "l")
FIELD_SELECTOR = Flag("field-selector", "", "Field selector: metadata.name=web.")
SWITCH_DRY_RUN = Flag("dry-run", False, "Do everything but write.")
DRY_RUN = Flag(
    "dry-run",
    "none",
    "none, server (the server checks but does not store) or client (nothing is sent).",
    bare="unchanged",
    check=one_of("invalid dry-run value (must be none, server, or client)", "none", "server", "client", "unchanged"),
)
FIELD_MANAGER_HELP = "Name under which the changed fields are recorded."

FILENAME = Flag("filename", [], "Files, directories, URLs or - that hold the objects.", "f")
KUSTOMIZE = Flag("kustomize", "", "A directory with a kustomization.", "k")
RECURSIVE = Flag("recursive", False, "Read directories given with -f and all below them.", "R")
FILES = (FILENAME, KUSTOMIZE, RECURSIVE)

OUTPUT = Flag(
    "output",
    "",
    "json, yaml, name, wide, jsonpath=…, jsonpath-file=…, custom-columns=…, custom-columns-file=…, go-template=… "
    "or go-template-file=….",
    "o",
)
TEMPLATE = Flag("template", "", "Template text or file for -o go-template, go-template-file, jsonpath, jsonpath-file.")
ALLOW_MISSING = Flag("allow-missing-template-keys", True, "Take missing fields of templates as empty.")
SHOW_MANAGED = Flag("show-managed-fields", False, "Keep managedFields in JSON and YAML output.")
PRINTING = (OUTPUT, TEMPLATE, ALLOW_MISSING, SHOW_MANAGED)

VALIDATE = Flag(
    "validate",
    "strict",
    "strict (unknown fields are errors), warn or ignore.",
    bare="strict",
    check=one_of("invalid value for --validate", "strict", "warn", "ignore", "true", "false"),
)


def operation_scope(*allowed: str, default: str = "karmada") -> Flag:
    """Where a command acts."""
    words = {"karmada": "the control plane", "members": "its members", "all": "both"}
    text = ", ".join(f"{name} ({words[name]})" for name in allowed)
    check = one_of("not support OperationScope", *allowed)
    return Flag("operation-scope", default, f"Where to act: {text}.", "s", check=check, shown=default)


def cluster_flag(short: str = "") -> Flag:
    """One member."""
    return Flag("cluster", "", "Name of the member cluster.", short)


def replicas(part: str, text: str) -> Flag:
    """How many of a part."""
    return Flag(f"{part}-replicas", 1, text, check=between(0, MOST_REPLICAS))


def waiting(name: str, seconds: float, text: str) -> Flag:
    """A span of time."""
    from karmada.api.duration import spell

    return Flag(name, seconds, text, check=duration, shown=spell(int(seconds * 1e9)))


def lasting(name: str, seconds: float, text: str) -> Flag:
    """A span of time that something lasts: not nothing, and not less."""
    return waiting(name, seconds, text)._replace(check=_positive)


def _positive(text: str) -> float:
    found = duration(text)
    if found <= 0:
        raise ValueError("it must last for some time")
    return found
