"""A server behind us, and every message that goes through, one a line: tee.py LOG COMMAND…"""

import json
import signal
import subprocess
import sys
import threading

log = open(sys.argv[1], "a", encoding="utf-8")  # noqa: SIM115 (lives as long as the process)
lock = threading.Lock()
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


# A client that ends us by a signal, as Codex does, ends the server: we wait until it has committed.
signal.signal(signal.SIGTERM, lambda *_: server.terminate())


def carry(source, target, name):
    for line in source:
        with lock:
            log.write(json.dumps({"from": name, "message": json.loads(line)}) + "\n")
            log.flush()
        target.write(line)
        target.flush()
    target.close()


threading.Thread(target=carry, args=(sys.stdin.buffer, server.stdin, "client"), daemon=True).start()
try:
    carry(server.stdout, sys.stdout.buffer, "server")
except BrokenPipeError:
    pass
sys.exit(server.wait())
