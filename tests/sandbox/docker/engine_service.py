"""What answers at a socket as an engine does that is asked about itself."""

from __future__ import annotations

import http.server
import json
from typing import Any


def service(**about: Any) -> type[http.server.BaseHTTPRequestHandler]:
    """A handler of requests that says this of itself, besides what any engine says."""
    told = {"Version": "29.5.1", "ApiVersion": "1.44", "Arch": "amd64", "Os": "linux", **about}
    body = json.dumps(told).encode()

    class Service(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def address_string(self) -> str:
            return "unix"

        def log_message(self, *_: Any) -> None:
            pass

    return Service
