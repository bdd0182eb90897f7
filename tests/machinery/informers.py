"""An informer of ConfigMaps in virtual time, and what its handler gets."""

import asyncio
from random import Random

from karmada.machinery.codec import TREE
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource
from karmada.testing.loop import VirtualClock

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


def config_map(name, namespace="default", labels=None, **data):
    metadata = {"name": name, "namespace": namespace} | ({"labels": labels} if labels else {})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


class Recorder:
    """Writes down every change a handler gets."""

    def __init__(self):
        self.seen = []

    def __call__(self, changes):
        for old, new, initial in changes:
            kind = "add" if old is None else "delete" if new is None else "update"
            self.seen.append((kind, (new or old).key.name) + (("initial",) if initial else ()))


def start(server, scope=None, codec=TREE, **options):
    informer = Informer(server, CONFIG_MAPS, codec, scope or Scope(), clock=VirtualClock(), random=Random(1), **options)
    recorder = Recorder()
    informer.add_handler(recorder)
    task = asyncio.get_running_loop().create_task(informer.run())
    return informer, recorder.seen, task


async def settle():
    await asyncio.sleep(100)
