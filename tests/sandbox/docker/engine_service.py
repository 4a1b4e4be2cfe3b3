"""An HTTP service at a socket that answers like an engine."""

from __future__ import annotations

import http.server
import json
from typing import Any


def service(**about: Any) -> type[http.server.BaseHTTPRequestHandler]:
    """A request handler that returns these facts about itself, in addition to those of any engine."""
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
