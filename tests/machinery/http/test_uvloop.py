"""Programs that run for long use uvloop, which is pickier than asyncio about what it is given."""

import uvloop

from karmada.apiserver.server import ApiServer
from karmada.machinery.client import Client
from karmada.machinery.http.target import Identity, Material, Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.transport import GroupVersionResource

NAMESPACES = GroupVersionResource("", "v1", "namespaces")


def test_a_server_is_reached_through_tls_on_uvloop():
    async def main():
        async with ApiServer() as server:
            port = await server.listen("127.0.0.1", 0, ["127.0.0.1"])
            authority = server.identity.authority
            certificate, key = authority.issue_client("admin", ["system:masters"])
            target = Target(
                f"https://127.0.0.1:{port}",
                Material(authority.certificate_pem),
                identity=Identity(Material(certificate), Material(key)),
            )
            client = Client(HttpTransport(target))
            try:
                assert await client.resource(NAMESPACES).get("default")
            finally:
                await client.close()

    uvloop.run(main())
