"""An HTTP service at a socket that answers like an engine."""

from __future__ import annotations

import http.server
import json
from typing import Any

USUAL = {"Version": "29.5.1", "ApiVersion": "1.44", "Arch": "amd64", "Os": "linux"}


def service(**about: Any) -> type[http.server.BaseHTTPRequestHandler]:
    """A request handler that returns these facts about itself, in addition to those of any engine."""
    return answering(json.dumps({**USUAL, **about}).encode())


def answering(about: bytes, otherwise: bytes | None = None) -> type[http.server.BaseHTTPRequestHandler]:
    """A request handler that answers with these bytes when it is asked about itself, or anything else."""

    class Service(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = about if otherwise is None or self.path.endswith("/version") else otherwise
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_DELETE = do_GET

        def address_string(self) -> str:
            return "unix"

        def log_message(self, *_: Any) -> None:
            pass

    return Service
