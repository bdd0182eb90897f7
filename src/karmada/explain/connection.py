"""Why a server could not be talked to, in words with a remedy."""

import socket
import ssl

from karmada.machinery.errors import Timeout


def connection(error: Exception, server: str = "the control plane") -> str:
    """Why a server could not be talked to, and what to do; `server` is what it is called."""
    text = str(error)
    cause = error.__cause__ or error.__context__
    if isinstance(error, Timeout):
        return f"{text}: the server is there but hangs; look at its log, or try again"
    if isinstance(cause, socket.gaierror):
        return f"{text}: check the host name in the kubeconfig"
    if isinstance(cause, ssl.SSLCertVerificationError):
        if "expired" in cause.verify_message:
            return f"{text}: the server's certificate has expired; renew it"
        return f"{text}: check the certificate authority in the kubeconfig"
    if isinstance(cause, ConnectionRefusedError):
        return f"{text}: did you specify the right host or port, and is {server} running?"
    return text
