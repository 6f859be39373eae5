r"""Any programs behind a RED queue: Python's web server, and a client that downloads from it.

client -- R0 == 4 Mbit/s, 20 ms, 60 packets, RED == R1 -- server

Both hosts are network namespaces of this machine.

In one line, with any programs:

    penstock emulate scenarios/links/red.toml --download --server 'python3 -m http.server -d /usr/bin 8000' \
        -- curl -s -o /dev/null http://10.9.0.2:8000/bash
"""

import os
import shlex
import sys
import tempfile
from pathlib import Path

from penstock import Scenario
from penstock.emulation import emulate

SCENARIOS = Path(__file__).parent.parent / "scenarios"
CLIENT = """
import os, time, urllib.request
begun = time.monotonic()
with urllib.request.urlopen(f"http://{os.environ['PENSTOCK_SERVER']}:8000/page") as answer:
    size = len(answer.read())
print(f"{size / 1e6:.1f} MB in {time.monotonic() - begun:.1f} s", flush=True)
"""

link, _ = Scenario.load_link(SCENARIOS / "links" / "red.toml")
with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / "page").write_bytes(os.urandom(2_000_000))
    result = emulate(
        link,
        server=shlex.join([sys.executable, "-m", "http.server", "-d", folder, "8000"]) + " >/dev/null 2>&1",
        client=[sys.executable, "-c", CLIENT],
        download=True,  # the bottleneck's forward direction is from the server to the client
    )

metrics = result.runs[0].metrics
print(f"{metrics['delay_mean_s'] * 1e3:.0f} ms in the queue, {metrics['marks_ce']:.0f} packets marked by RED")
