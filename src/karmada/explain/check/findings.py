"""Judgements, without I/O."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from karmada.api.counting import part_of

JSONObject = dict[str, Any]
STUCK_SECONDS = 600.0
SKEW_SECONDS = 30.0
EXPIRY_DAYS = 30
LEASE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    said: str
    state: str = "ok"
    """ok, warning or broken."""
    remedy: str = ""


def skew(what: str, theirs: float, ours: float) -> Finding:
    """Whether clocks agree."""
    apart = theirs - ours
    if abs(apart) <= SKEW_SECONDS:
        # Servers give the time in whole seconds, and an answer takes a while: one second means nothing.
        seconds = f" ({apart:+.0f} s)" if abs(apart) >= 2 else ""
        return Finding(f"clock of {what}", f"agrees with this machine{seconds}")
    remedy = f"Synchronise the clocks (NTP): tokens and leases go wrong otherwise; {what} is {apart:+.0f} s off."
    return Finding(f"clock of {what}", f"is {apart:+.0f} s off", "broken", remedy)


def unready(*, storage: bool) -> Finding:
    """A server whose readiness fails, because of its storage or otherwise."""
    if storage:
        remedy = "Free space on its disk, or bring its storage back; its log says which."
        return Finding("readiness", "fails: the control plane cannot write to its storage", "broken", remedy)
    remedy = "See which check fails: kubectl get --raw '/readyz?verbose'."
    return Finding("readiness", "fails: the control plane is not ready", "broken", remedy)


def certificate(what: str, days: float) -> Finding:
    """How long a certificate is good."""
    if days < 0:
        return Finding(what, f"expired {-days:.0f} days ago", "broken", f"Renew it: {what} is not accepted any more.")
    if days < EXPIRY_DAYS:
        return Finding(what, f"expires in {days:.0f} days", "warning", f"Renew {what} soon.")
    return Finding(what, f"is good for {days:.0f} days")


def cluster(item: JSONObject) -> Finding:
    """Whether a cluster is ready."""
    name = item["metadata"]["name"]
    what = f"cluster {name}"
    if item["metadata"].get("deletionTimestamp"):
        remedy = f"Wait, or force it: karmadactl unjoin {name} --force."
        return Finding(what, "is leaving", "warning", remedy)
    ready = next((one for one in (item.get("status") or {}).get("conditions") or () if one["type"] == "Ready"), None)
    if ready is None:
        mode = (item.get("spec") or {}).get("syncMode")
        remedy = (
            "Look whether karmada-agent runs in it."
            if mode == "Pull"
            else "Look whether karmada-controller-manager runs."
        )
        return Finding(what, "has never reported", "broken", remedy)
    if ready["status"] != "True":
        text = f"is not ready: {ready.get('reason', '')}: {ready.get('message', '')}"
        return Finding(
            what,
            text,
            "broken",
            f"Check network, credentials and health of {name}: kubectl --context {name} get --raw /readyz.",
        )
    return Finding(what, f"is ready, {(item.get('status') or {}).get('kubernetesVersion', 'unknown version')}")


def services(items: Iterable[JSONObject]) -> list[Finding]:
    """Parts of the API that other servers serve."""
    found: list[Finding] = []
    for item in items:
        available = next(
            (one for one in (item.get("status") or {}).get("conditions") or () if one["type"] == "Available"), None
        )
        if available is not None and available["status"] != "True":
            name = item["metadata"]["name"]
            remedy = f"Bring the server of {name} back, or delete the APIService: it also keeps namespaces from going."
            found.append(Finding(f"API {name}", f"is not available: {available.get('message', '')}", "broken", remedy))
    return found or [Finding("aggregated APIs", "are available")]


def stuck(items: Iterable[JSONObject], now: float, seconds: Any) -> list[Finding]:
    """Objects that have been leaving for too long."""
    found: list[Finding] = []
    for item in items:
        about = item["metadata"]
        since = about.get("deletionTimestamp")
        if not since or now - seconds(since) < STUCK_SECONDS:
            continue
        held = ", ".join(about.get("finalizers") or (item.get("spec") or {}).get("finalizers") or ()) or "nothing"
        name = f"{about['namespace']}/{about['name']}" if about.get("namespace") else about["name"]
        minutes = (now - seconds(since)) / 60
        remedy = f"Find who serves {held}; if nobody does any more, take the finalizer off."
        text = f"has been leaving for {minutes:.0f} minutes, held by {held}"
        found.append(Finding(f"{item.get('kind', 'object')} {name}", text, "broken", remedy))
    return found or [Finding("deletions", "none is stuck")]


def leases(items: Iterable[JSONObject], now: float, seconds: Any) -> list[Finding]:
    """Whether the components that elect leaders have one."""
    found: list[Finding] = []
    for item in items:
        name = item["metadata"]["name"]
        spec = item.get("spec") or {}
        if not name.startswith("karmada-") or not spec.get("renewTime"):
            continue
        age = now - seconds(spec["renewTime"])
        if age > LEASE_SECONDS:
            found.append(
                Finding(name, f"has had no leader for {age:.0f} s", "broken", f"Start {name}, or look at its logs.")
            )
        elif not spec.get("holderIdentity"):
            text = f"has no leader: the last one gave up its lease {age:.0f} s ago"
            found.append(
                Finding(name, text, "warning", f"Wait a moment; if it stays, start {name} or look at its logs.")
            )
        else:
            found.append(Finding(name, f"is led by {spec['holderIdentity']}"))
    return found


def bindings(items: Iterable[JSONObject]) -> Finding:
    """Whether everything that is propagated has a place and has arrived."""
    listed = list(items)
    lost: list[str] = []
    for item in listed:
        states = {one["type"]: one["status"] for one in (item.get("status") or {}).get("conditions") or ()}
        if states.get("Scheduled") == "False" or states.get("FullyApplied") == "False":
            about = (item.get("spec") or {}).get("resource") or {}
            lost.append(f"{str(about.get('kind', '')).lower()}/{about.get('name', '')} -n {about.get('namespace', '')}")
    if not lost:
        return Finding("propagation", f"{part_of(len(listed), len(listed), 'resource')} in place")
    remedy = f"Ask for the first of them: karmadactl why {lost[0]}."
    return Finding("propagation", f"{part_of(len(lost), len(listed), 'resource')} not in place", "warning", remedy)


def webhooks(items: Iterable[JSONObject], days_left: Any) -> list[Finding]:
    """Whether the authorities by which webhooks are trusted are still good."""
    found: list[Finding] = []
    for item in items:
        for hook in item.get("webhooks") or ():
            bundle = (hook.get("clientConfig") or {}).get("caBundle")
            if not bundle:
                continue
            judged = certificate(f"authority of webhook {hook['name']}", days_left(bundle))
            if judged.state != "ok":
                found.append(judged)
    return found or [Finding("webhooks", "their authorities are good")]
