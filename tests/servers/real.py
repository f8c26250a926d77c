"""Real servers on loopback, from Debian's packages: nginx with fcgiwrap, lighttpd, OpenSSH."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.local import HOST, free_port, wait_for_port

LOGIN = ("ada", "hunter-two")
_SYSTEM = "/usr/sbin:/usr/local/sbin:" + os.environ.get("PATH", "")


def program(name: str, package: str) -> str:
    """A server's program, or a skip that says what to install."""
    found = shutil.which(name, path=_SYSTEM)
    if found is None:
        pytest.skip(f"{name} is not installed: `apt-get install {package}`, or `make test-servers`")
    return found


@contextlib.contextmanager
def running(
    command: list[str], environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A server in the foreground, ended with the test."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def _backend() -> str:
    return str(Path(subprocess.check_output(["git", "--exec-path"], text=True).strip(), "git-http-backend"))


@contextlib.contextmanager
def nginx(root: Path, state: Path) -> Iterator[str]:
    """`git http-backend` behind nginx and fcgiwrap, with basic auth; gives the address without a login."""
    server, wrapper = program("nginx", "nginx-light"), program("fcgiwrap", "fcgiwrap")
    port, socket = free_port(), state / "fcgi.sock"
    hashed = subprocess.check_output(["openssl", "passwd", "-apr1", LOGIN[1]], text=True).strip()
    (state / "htpasswd").write_text(f"{LOGIN[0]}:{hashed}\n")
    temporary = "".join(
        f"{kind}_temp_path {state}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (state / "nginx.conf").write_text(
        f"""daemon off; pid {state}/pid; error_log {state}/error.log; user {getpass.getuser()};
        events {{}}
        http {{ access_log off; {temporary}
          server {{ listen {HOST}:{port}; client_max_body_size 0;
            auth_basic memory; auth_basic_user_file {state}/htpasswd;
            location / {{
              fastcgi_pass unix:{socket};
              fastcgi_param SCRIPT_FILENAME {_backend()};
              fastcgi_param GIT_PROJECT_ROOT {root};
              fastcgi_param GIT_HTTP_EXPORT_ALL 1;
              fastcgi_param GIT_PROTOCOL $http_git_protocol;
              fastcgi_param PATH_INFO $uri;
              fastcgi_param QUERY_STRING $query_string;
              fastcgi_param REQUEST_METHOD $request_method;
              fastcgi_param CONTENT_TYPE $content_type;
              fastcgi_param CONTENT_LENGTH $content_length;
              fastcgi_param HTTP_CONTENT_ENCODING $http_content_encoding;
              fastcgi_param REMOTE_USER $remote_user;
              fastcgi_param REMOTE_ADDR $remote_addr; }} }} }}
        """
    )
    with (
        running([wrapper, "-c", "4", "-s", f"unix:{socket}"]),
        running([server, "-c", str(state / "nginx.conf")]) as process,
    ):
        wait_for_port(port, process)
        yield f"http://{HOST}:{port}"


@contextlib.contextmanager
def lighttpd(root: Path, state: Path) -> Iterator[str]:
    """`git http-backend` as a CGI program of lighttpd, with basic auth; gives the address without a login."""
    server = program("lighttpd", "lighttpd")
    port = free_port()
    (state / "users").write_text(":".join(LOGIN) + "\n")
    (state / "lighttpd.conf").write_text(
        f"""server.modules = ("mod_setenv", "mod_alias", "mod_cgi", "mod_auth", "mod_authn_file")
        server.document-root = "{state}"
        server.bind = "{HOST}"
        server.port = {port}
        auth.backend = "plain"
        auth.backend.plain.userfile = "{state}/users"
        auth.require = ( "/" => ( "method" => "basic", "realm" => "memory", "require" => "valid-user" ) )
        alias.url = ( "/git" => "{_backend()}" )
        cgi.assign = ( "" => "" )
        setenv.add-environment = ( "GIT_PROJECT_ROOT" => "{root}", "GIT_HTTP_EXPORT_ALL" => "1" )
        """
    )
    with running([server, "-D", "-f", str(state / "lighttpd.conf")]) as process:
        wait_for_port(port, process)
        yield f"http://{HOST}:{port}/git"


@contextlib.contextmanager
def sshd(root: Path, state: Path) -> Iterator[tuple[str, str]]:
    """OpenSSH's server with a test key; gives the address and the ssh command that has the key."""
    server = program("sshd", "openssh-server")
    program("ssh", "openssh-client")
    for name in ("host", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(state / name)], check=True)
    shutil.copy(state / "key.pub", state / "authorized")
    port = free_port()
    (state / "sshd.conf").write_text(
        f"ListenAddress {HOST}\nPort {port}\nHostKey {state}/host\nAuthorizedKeysFile {state}/authorized\n"
        f"PidFile {state}/pid\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
    )
    if os.getuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)  # a server started by root wants it
    with running([server, "-D", "-e", "-f", str(state / "sshd.conf")]) as process:
        wait_for_port(port, process)
        client = f"ssh -i {state}/key -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=no "
        yield f"ssh://{getpass.getuser()}@{HOST}:{port}{root}", client + "-o UserKnownHostsFile=/dev/null"
