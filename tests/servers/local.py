"""Git servers on loopback that need no package but git, and a proxy in front that lets the network die."""

from __future__ import annotations

import base64
import contextlib
import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HOST = "127.0.0.1"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int, process: subprocess.Popen[bytes] | None = None) -> None:
    """Wait until someone listens; fails at once where the server has ended."""
    for _ in range(1500):
        with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            return
        assert process is None or process.poll() is None, "the server ended"
        time.sleep(0.02)
    raise AssertionError(f"nobody listens on port {port}")


@contextlib.contextmanager
def git_daemon(root: Path) -> Iterator[int]:
    """`git daemon` that serves and takes everything below a directory; gives its port."""
    port = free_port()
    # The daemon itself, not `git daemon`: ending the wrapper would leave it behind.
    daemon = Path(subprocess.check_output(["git", "--exec-path"], text=True).strip(), "git-daemon")
    command = [
        str(daemon),
        "--export-all",
        "--enable=receive-pack",
        "--reuseaddr",
        f"--listen={HOST}",
        f"--port={port}",
        f"--base-path={root}",
        str(root),
    ]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for_port(port, process)
            yield port
        finally:
            process.terminate()


class Link:
    """A proxy to a port that can be told to break: after that many bytes, in either direction, all is cut."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.passed = 0
        self.limit: int | None = None
        self.abrupt = False
        self._guard = threading.Lock()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server((HOST, 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_after(self, count: int | None, *, abrupt: bool = False) -> None:
        """Break after `count` more bytes (None: never); abruptly with a reset, else with an end of file."""
        with self._guard:
            self.passed, self.limit, self.abrupt = 0, count, abrupt

    def close(self) -> None:
        self._listener.close()
        self._break(*self._open)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection((HOST, self.target), timeout=30)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            self._open += [client, server]
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if hasattr(
                    socket, "TCP_QUICKACK"
                ):  # git sends small pieces: else each waits 40 ms for the one before
                    source.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
                allowed = self._allowed(len(data))
                if allowed:
                    sink.sendall(data[:allowed])
                if allowed < len(data):
                    self._break(source, sink)
                    return
            sink.shutdown(socket.SHUT_WR)

    def _allowed(self, size: int) -> int:
        with self._guard:
            left = size if self.limit is None else max(0, self.limit - self.passed)
            allowed = min(size, left)
            self.passed += allowed
            return allowed

    def _break(self, *sockets: socket.socket) -> None:
        # Of this connection alone: the next may be open already. Another one breaks when it passes a byte.
        for one in sockets:
            with contextlib.suppress(OSError):
                if self.abrupt:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@contextlib.contextmanager
def silent_server() -> Iterator[int]:
    """A server that takes connections and never says a word; gives its port."""
    with socket.create_server((HOST, 0)) as listener:
        yield int(listener.getsockname()[1])


@contextlib.contextmanager
def dripping_server(first: bytes) -> Iterator[int]:
    """A server that answers with `first` and then a byte now and then, for ever; gives its port."""
    stop = threading.Event()

    def drip(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.recv(4096)
            connection.sendall(first)
            while not stop.wait(0.05):
                connection.sendall(b"0")

    def serve(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                threads.append(threading.Thread(target=drip, args=(listener.accept()[0],)))
                threads[-1].start()

    threads: list[threading.Thread] = []
    with socket.create_server((HOST, 0)) as listener:
        serving = threading.Thread(target=serve, args=(listener,))
        serving.start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            stop.set()
            listener.shutdown(socket.SHUT_RDWR)
            serving.join()
            for thread in threads:
                thread.join()


@contextlib.contextmanager
def http_backend(root: Path, *, login: tuple[str, str] | None = None) -> Iterator[int]:
    """`git http-backend` behind the standard library's web server; gives its port."""
    expected = "Basic " + base64.b64encode(":".join(login).encode()).decode() if login else ""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's word)
            pass

        def _serve(self) -> None:
            body = self._body()
            if expected and self.headers.get("Authorization") != expected:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="memory"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            path, _, query = self.path.partition("?")
            environment = {
                **{key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
                "GIT_PROJECT_ROOT": str(root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "REMOTE_USER": login[0] if login else "somebody",
                "REMOTE_ADDR": HOST,
            }
            done = subprocess.run(
                ["git", "http-backend"], input=body, env=environment, capture_output=True, check=False
            )
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            fields = [line.decode().split(": ", 1) for line in head.split(b"\r\n") if b": " in line]
            status = next((value for name, value in fields if name == "Status"), "200 OK")
            self.send_response(int(status.split()[0]))
            for name, value in fields:
                if name != "Status":
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            parts = []
            while size := int(self.rfile.readline().strip() or b"0", 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        do_GET = do_POST = _serve

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            pass  # connections that a test cuts

    server = Server((HOST, 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
