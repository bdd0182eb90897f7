"""Long-running programs use uvloop; the transport must work there as it does on asyncio's own loop."""

import asyncio

import orjson
import uvloop

from karmada.apiserver.auth.kubeconfig import kubeconfig
from karmada.apiserver.server import ApiServer
from karmada.machinery.client import Client
from karmada.machinery.codec import TREE
from karmada.machinery.http.kubeconfig import from_bytes
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import GroupVersionResource

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


async def main():
    async with ApiServer() as server:
        port = await server.listen()
        authority = server.identity.authority
        certificate, key = authority.issue_client("tester", ["system:masters"])
        config = kubeconfig(f"https://127.0.0.1:{port}", authority.certificate_pem, certificate=certificate, key=key)
        transport = HttpTransport(from_bytes(orjson.dumps(config)).target())
        maps = Client(transport).resource(CONFIG_MAPS)
        informer = Informer(transport, CONFIG_MAPS, TREE)
        heard = asyncio.Event()
        informer.add_handler(lambda changes: heard.set() if any(c.key.name == "a" for c in changes) else None)
        following = asyncio.create_task(informer.run())
        await informer.synced()
        await asyncio.gather(
            *(maps.create({"metadata": {"name": name, "namespace": "default"}}) for name in "abcdefgh")
        )
        await asyncio.wait_for(heard.wait(), 10)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await transport.close()
        return True


def test_the_transport_works_on_uvloop():
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(main())
