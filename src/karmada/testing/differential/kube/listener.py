"""An HTTPS listener for admission webhooks: the path of a webhook says what it answers.

A path is `/<base64url of JSON>` with `code`, `text` (a raw body), or `response` (an AdmissionResponse, whose uid is
filled in); `echo` puts the request into the message of the response.
"""

import base64
import http.server
import ssl
import tempfile
import threading
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson
from cryptography import x509

from karmada.apiserver.auth.pki import Authority


def place(answer: dict[str, Any]) -> str:
    """The path at which a listener answers so."""
    return "/" + base64.urlsafe_b64encode(orjson.dumps(answer)).decode()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        review = orjson.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        answer = orjson.loads(base64.urlsafe_b64decode(self.path.partition("?")[0][1:]))
        body = answer.get("text", "").encode() if "text" in answer else orjson.dumps(_answered(review, answer))
        self.send_response(answer.get("code", 200))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is written."""


def _answered(review: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    request = review["request"]
    response = {"uid": request["uid"], **answer.get("response", {})}
    if answer.get("echo"):
        shown = {key: value for key, value in request.items() if key not in ("uid", "userInfo")}
        for name in ("object", "oldObject"):
            if isinstance(shown.get(name), dict):
                shown[name].get("metadata", {}).pop("managedFields", None)
        response["status"] = {"message": orjson.dumps(shown, option=orjson.OPT_SORT_KEYS).decode()}
    return {"apiVersion": answer.get("version", review["apiVersion"]), "kind": "AdmissionReview", "response": response}


class Listener:
    """A listener on loopback with a certificate of its own authority."""

    def __init__(self) -> None:
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        authority = Authority.create("hooks")
        certificate, key = authority.issue_server("127.0.0.1", [x509.IPAddress(ip_address("127.0.0.1"))])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            pair = Path(folder) / "pair.pem"
            pair.touch(0o600)
            pair.write_bytes(certificate + b"\n" + key)
            context.load_cert_chain(pair)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        ca = base64.b64encode(authority.certificate_pem).decode()
        self.variables = {"hook": f"https://127.0.0.1:{self._server.server_address[1]}", "ca": ca}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
