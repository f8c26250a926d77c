"""hermes-okf as a peer of `benchmarks.capture`: a program for the interpreter that has it, spoken to in JSON lines.

    python peer_okf.py BUNDLE

Each line in is a list of events; each line out the seconds that its flush and commit took. The events are put
into its hot buffer before the clock starts; its objects are not fsynced and it keeps no search index, all of that
in its favour. One commit is made for all of them, where its own hook makes one for every decision.
"""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    from hermes_okf.hermes_integration import HermesOKFConfig, HermesOKFProvider

    provider = HermesOKFProvider(
        HermesOKFConfig(bundle_path=sys.argv[1], auto_snapshot=False, enable_git=True, hot_memory_max=10**9)
    )
    if not hasattr(provider.agent.memory.bundle, "auto_commit"):
        raise SystemExit("hermes-okf runs without git here: install hermes-okf[git]")
    print("ready", flush=True)
    for line in sys.stdin:
        events = json.loads(line)
        for event in events:
            provider.hot.push(**event)
        begun = time.perf_counter()
        provider._flush_hot()
        commit = provider.agent.memory.bundle.auto_commit("memory_write", count=len(events))
        taken = time.perf_counter() - begun
        if commit is None:
            raise SystemExit("hermes-okf committed nothing")
        print(taken, flush=True)


if __name__ == "__main__":
    main()
