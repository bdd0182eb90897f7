"""Scenarios: steps in a file, played against any cluster that can be reached by a client.

    - say: a Deployment rolls out
      apply: [{apiVersion: apps/v1, kind: Deployment, ...}]
    - wait: {apiVersion: apps/v1, kind: Deployment, name: web, path: "{.status.availableReplicas}", equals: "3"}
    - patch: {apiVersion: apps/v1, kind: Deployment, name: web, body: {spec: {replicas: 5}}}
    - delete: {apiVersion: apps/v1, kind: Deployment, name: web}
    - absent: {apiVersion: v1, kind: Pod, labels: app=web}

A step has one verb. `wait` compares what a JSONPath finds, printed as kubectl prints it; with `labels` or `fields`
instead of `name` it looks at the first object that they select. `contains` asks for a part of the text only.

`python -m karmada.simulator.scenario FILE --kubeconfig KUBECONFIG` plays a file against a real cluster.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from karmada.api import jsonpath, yaml
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.errors import AlreadyExists, NotFound
from karmada.machinery.resource import Propagation, Resource, Scope
from karmada.machinery.transport import JSONObject


class StepFailed(AssertionError):
    """A step did not come true in time; the message names it."""


class Which(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """An object, or the objects with certain labels."""

    api_version: str
    kind: str
    name: str = ""
    namespace: str = "default"
    labels: str = ""
    fields: str = ""
    path: str = ""
    equals: str | None = None
    contains: str | None = None
    body: JSONObject = {}
    propagation: Propagation = Propagation.BACKGROUND


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step; exactly one of its verbs is given."""

    say: str = ""
    apply: list[JSONObject] = []
    patch: Which | None = None
    delete: Which | None = None
    wait: Which | None = None
    absent: Which | None = None
    seconds: float = 60.0


def load(path: Path) -> list[Step]:
    """Read a scenario."""
    return msgspec.convert(yaml.load(path.read_text()), list[Step])


async def play(client: Client, steps: Sequence[Step], clock: Clock = REAL) -> None:
    """Play the steps in order; raises `StepFailed` at the first that does not come true."""
    for number, step in enumerate(steps, 1):
        try:
            await _step(client, step, clock)
        except StepFailed as failed:
            raise StepFailed(f"step {number} ({step.say or 'unnamed'}): {failed}") from None


async def _step(client: Client, step: Step, clock: Clock) -> None:
    for obj in step.apply:
        metadata = obj["metadata"]
        which = Which(obj["apiVersion"], obj["kind"], metadata["name"], metadata.get("namespace", "default"))
        resource, namespace = await _collection(client, which)
        try:
            await resource.create(obj, namespace)
        except AlreadyExists:
            await resource.patch(which.name, obj, namespace)
    if step.patch is not None:
        resource, namespace = await _collection(client, step.patch)
        await resource.patch(step.patch.name, step.patch.body, namespace)
    if step.delete is not None:
        resource, namespace = await _collection(client, step.delete)
        name = step.delete.name or (await _first(resource, step.delete, namespace))["metadata"]["name"]
        await resource.delete(name, namespace, propagation=step.delete.propagation)
    for awaited, wanted in ((step.wait, True), (step.absent, False)):
        if awaited is not None:
            await _await(client, awaited, wanted, step.seconds, clock)


async def _await(client: Client, which: Which, wanted: bool, seconds: float, clock: Clock) -> None:
    end = clock.monotonic() + seconds
    resource, namespace = await _collection(client, which)
    while True:
        try:
            found = await _first(resource, which, namespace)
        except NotFound:
            shown = None
        else:
            shown = jsonpath.parse(which.path).render(found) if which.path else ""
        if (shown is None) if not wanted else shown is not None and _holds(which, shown):
            return
        if clock.monotonic() >= end:
            where = f"{which.kind} {which.name or which.labels or which.fields}"
            raise StepFailed(f"{where}: {which.path} is {shown!r} after {seconds:g} s")
        await clock.sleep(0.2)


def _holds(which: Which, shown: str) -> bool:
    if which.contains is not None:
        return which.contains in shown
    return which.equals is None or shown == which.equals


async def _first(resource: Resource[JSONObject], which: Which, namespace: str) -> JSONObject:
    if which.name:
        return await resource.get(which.name, namespace)
    items = (await resource.list(Scope(namespace, which.labels, which.fields))).items
    if not items:
        raise NotFound(f"no {which.kind} matches {which.labels} {which.fields}")
    return items[0]


async def _collection(client: Client, which: Which) -> tuple[Resource[JSONObject], str]:
    """The collection of a kind, and the namespace to use there."""
    known = await client.mapper.of_kind(which.api_version, which.kind)
    return client.resource(known.type), which.namespace if known.namespaced else ""


def main(argv: Sequence[str] | None = None) -> int:
    """Play a file against the cluster of a kubeconfig; the exit status."""
    from karmada.machinery.http.kubeconfig import find_target
    from karmada.machinery.http.transport import HttpTransport

    flags = argparse.ArgumentParser(prog="python -m karmada.simulator.scenario")
    flags.add_argument("file", type=Path)
    flags.add_argument("--kubeconfig", default="")
    given = flags.parse_args(argv)

    async def perform() -> None:
        client = Client(HttpTransport(find_target(given.kubeconfig)))
        try:
            await play(client, load(given.file))
        finally:
            await client.close()

    try:
        asyncio.run(perform())
    except StepFailed as failed:
        sys.stderr.write(f"{failed}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
