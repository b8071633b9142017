"""What went wrong with the package index: one line with its remedy, without any host, address or
credential.
"""

import requests

from compat.errors import IndexUnreachable
from compat.index.transport import BadStatus, BrokenOff, TooLarge, TooSlow


def unreachable(error: Exception, wanted: str) -> IndexUnreachable:
    """Return the trouble as one line with its remedy. No host, address or credential is in it."""
    message, hint = _told(error)
    return IndexUnreachable.of(f"{message}, asked for {wanted}", hint=hint)


def _told(error: Exception) -> tuple[str, str]:
    check = (
        "check the network, and the index address and proxy that pip is configured for; then try"
        " again"
    )
    unreadable = "the package index's answer cannot be read", "check the index address"
    match error:
        case requests.exceptions.JSONDecodeError():
            return unreadable
        case BadStatus():
            return _told_status(error.status)
        case TooLarge():
            return f"the package index answered with more than {error}", "check the index address"
        case TooSlow():
            return (
                f"the package index gave no complete answer {error}",
                "check the network; then try again",
            )
        case requests.Timeout():
            return "the package index did not answer in time", check
        case BrokenOff() | requests.exceptions.ChunkedEncodingError():
            return "the package index's answer broke off", "try again"
        case requests.exceptions.SSLError():
            return (
                "the package index's certificate is not trusted",
                "name the right bundle in pip's setting `cert`",
            )
        case requests.exceptions.ProxyError():
            return "the proxy to the package index cannot be reached", "check pip's setting `proxy`"
        case requests.ConnectionError():
            return "the package index cannot be reached", check
        case requests.RequestException():
            return "the package index could not be asked", check
        case OSError():
            return (
                "the package index could not be asked for want of a local file",
                "check pip's setting `cert`",
            )
        case _:
            return unreadable


def _told_status(status: int) -> tuple[str, str]:
    match status:
        case 404 | 410:
            return (
                f"the package index has no such page ({status})",
                "check the name and the index address",
            )
        case 401 | 403 | 407:
            return (
                f"the package index refuses access ({status})",
                "check the login of the index or the proxy",
            )
        case 429:
            return "the package index wants fewer requests (429)", "wait a while; then try again"
        case _ if status >= 500:
            return f"the package index is in trouble ({status})", "try again later"
        case _:
            return f"the package index answered with status {status}", "check the index address"
