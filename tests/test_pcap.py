"""Captures, read by tshark: another program's idea of TCP."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import SCENARIOS, Command

TSHARK = shutil.which("tshark")

pytestmark = [pytest.mark.slow, pytest.mark.skipif(TSHARK is None, reason="no tshark: apt-get install tshark")]


def read(capture: Path, *columns: str, keep: str = "") -> list[list[str]]:
    """The named fields of every packet that the display filter keeps."""
    assert TSHARK is not None
    line = [TSHARK, "-r", str(capture), "-T", "fields", "-E", "separator=,", "-E", "occurrence=f"]
    line += ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    line += [part for column in columns for part in ("-e", column)] + (["-Y", keep] if keep else [])
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=True)
    return [row.split(",") for row in done.stdout.splitlines()]


# ---- what tshark makes of retransmissions, marks and sizes ---------------------------------------------------------

#: Losses and, where ECN is on, marks; all is over before the end, so that nothing is still on its way to the queue.
BUSY = """\
duration = "12 s"
measure = { from = "0 s" }
profile = "PROFILE"

[topology]
kind = "dumbbell"
bottleneck = { rate = "1.5 Mbit/s", delay = "10 ms", buffer = "12 packets" }
access = { rate = "10 Mbit/s", delay = { spread = ["2 ms", "15 ms"] } }

[aqm]
kind = "AQM"
min_th = 3
max_th = 9
ecn = true

[[traffic]]
kind = "ftp"
flows = 4
start = { every = "0.1 s" }
stop = "11 s"
tcp = "TCP"
ecn = "ECN"
segment = "1000 B"

[[traffic]]
kind = "ftp"
flows = 3
bytes = "20001 B"
start = { every = "1 s" }
stop = "11 s"
tcp = "TCP"
ecn = "ECN"

[[traffic]]
kind = "ftp"
direction = "reverse"
bytes = "100 kB"
tcp = "TCP"
ecn = "ECN"

[[traffic]]
kind = "poisson"
rate = "150 kbit/s"
packet = "500 B"
"""

FIELDS = [
    "frame.number", "frame.len", "ip.src", "ip.proto", "ip.dsfield.ecn", "ip.checksum.status", "tcp.checksum.status",
    "udp.checksum.status", "_ws.malformed", "tcp.stream", "tcp.seq_raw", "tcp.len", "tcp.flags.syn", "tcp.flags.ack",
    "tcp.flags",
    "tcp.analysis.retransmission", "tcp.analysis.out_of_order", "tcp.analysis.keep_alive",
    "tcp.analysis.lost_segment", "tcp.analysis.ack_lost_segment", "tcp.analysis.zero_window", "tcp.window_size",
    "tcp.ack", "tcp.options.sack_le", "tcp.options.sack_re", "tcp.options.sack_perm",
]  # fmt: skip


@dataclass
class Seen:
    """What tshark says about a capture of one run, and what the run said itself."""

    rows: list[dict[str, str]]
    metrics: dict[str, float]

    def flagged(self, *fields: str) -> set[str]:
        """Frames of which tshark says any of these."""
        return {row["frame.number"] for row in self.rows if any(row[field] for field in fields)}

    def tcp(self) -> list[dict[str, str]]:
        """The rows of TCP."""
        return [row for row in self.rows if row["tcp.stream"] != ""]

    def segments(self) -> list[dict[str, str]]:
        """What data senders send: SYNs and data."""

        def sent(row: dict[str, str]) -> bool:
            syn = row["tcp.flags.syn"] == "1" and row["tcp.flags.ack"] == "0"
            return syn or row["tcp.len"] not in ("", "0")

        return [row for row in self.rows if sent(row)]

    def repeated(self) -> set[str]:
        """Frames with a segment that was seen before: retransmissions, without any guessing."""
        before, again = set(), set()
        for row in self.segments():
            key = row["tcp.stream"], row["tcp.seq_raw"]
            if key in before:
                again.add(row["frame.number"])
            before.add(key)
        return again


def header_bits(row: dict[str, str]) -> int:
    """AE, CWR and ECE of a TCP header as a number."""
    return int(row["tcp.flags"], 16) >> 6 & 7


def header_of(row: dict[str, str]) -> tuple[int, int]:
    """SYN and ACK of a TCP header."""
    return int(row["tcp.flags.syn"]), int(row["tcp.flags.ack"])


def look(penstock: Command, scenario: Path, *options: str) -> Seen:
    done = penstock("run", scenario, "--json", "--pcap", "c.pcap", "--set", 'measure.from="0 s"', *options)
    assert done.returncode == 0, done.stderr
    assert TSHARK is not None
    line = [TSHARK, "-r", str(scenario.parent / "c.pcap"), "-T", "fields", "-E", "separator=/t", "-E", "occurrence=f"]
    line += ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    line += [part for field in FIELDS for part in ("-e", field)]
    text = subprocess.run(line, capture_output=True, text=True, timeout=120, check=True).stdout
    rows = list(csv.DictReader(io.StringIO(text), FIELDS, delimiter="\t"))
    return Seen(rows, json.loads(done.stdout)["runs"][0]["metrics"])


def valid(seen: Seen) -> None:
    """Nothing is malformed, every checksum is right, and no segment or ACK comes out of nowhere."""
    assert seen.flagged("_ws.malformed") == set()
    for row in seen.rows:
        transport = "udp.checksum.status" if row["tcp.stream"] == "" else "tcp.checksum.status"
        assert (row["ip.checksum.status"], row[transport]) == ("1", "1"), row  # 1: good
    assert seen.flagged("tcp.analysis.lost_segment", "tcp.analysis.ack_lost_segment") == set()
    assert seen.flagged("tcp.analysis.zero_window") == set()


def test_tshark_reads_valid_tcp(penstock: Command, small: Path) -> None:
    seen = look(penstock, small)
    assert {row["ip.proto"] for row in seen.rows} == {"6", "17"}
    valid(seen)


def test_every_connection_opens_with_a_handshake(penstock: Command, small: Path) -> None:
    rows = look(penstock, small).tcp()
    streams = {row["tcp.stream"] for row in rows}
    opened, answered = ({row["tcp.stream"] for row in rows if header_of(row) == (1, ack)} for ack in (0, 1))
    assert streams == opened == answered
    assert len(streams) == 3


def test_ecn_bits(penstock: Command, small: Path) -> None:
    seen = look(penstock, small)
    rows = seen.tcp()
    data, rest = ([row for row in rows if (row["tcp.len"] != "0") == carries] for carries in (True, False))
    assert sum(row["ip.dsfield.ecn"] == "2" for row in data) > 100
    others = rest + [row for row in seen.rows if row["tcp.stream"] == ""]
    assert {row["ip.dsfield.ecn"] for row in others} == {"0"}
    # Negotiation, RFC 3168, 6.1.1: AE, CWR and ECE of a SYN and of its answer.
    syns = [row for row in rows if row["tcp.flags.syn"] == "1"]
    assert {(row["tcp.flags.ack"], header_bits(row)) for row in syns} == {("0", 0b011), ("1", 0b001)}
    assert seen.metrics["marks_ce"] > 0
    said = {header_bits(row) for row in rows if row["tcp.flags.syn"] == "0"}
    assert {0b001, 0b010} <= said


def retransmitted(seen: Seen) -> None:
    """Where the simulator counted a retransmission there is one, and tshark reports each.

    tshark cannot tell all of them from reordering. To it (packet-tcp.c, 4.0), a segment below the highest one is "out
    of order" if that one is younger than the handshake's round trip, unless it comes within 20 ms of a second duplicate
    ACK; whether it was seen before is not asked. A sender that sends new data during recovery does this at every hole
    but the first. The last segment again, if it is a single byte, is a "keep-alive". Nothing is reordered or kept alive
    in this network, so all three words mean a retransmission.
    """
    ours = {row["frame.number"] for row in seen.segments()}  # a repeated SYN makes a repeated SYN-ACK: not the sender's
    words = "tcp.analysis.retransmission", "tcp.analysis.out_of_order", "tcp.analysis.keep_alive"
    reported = seen.flagged(*words) & ours
    assert reported == seen.repeated()
    assert len(reported) == seen.metrics["retransmits"]


SENDERS = [
    *((tcp, profile, ecn) for tcp in ("tahoe", "newreno") for profile in ("rfc",) for ecn in ("off", "classic")),
    *((tcp, profile, ecn) for tcp in ("reno", "sack") for profile in ("rfc", "ns-2") for ecn in ("off", "classic")),
    ("sack", "rfc", "mecn"),
    ("reno", "ns-2", "accecn"),
    ("westwood", "rfc", "off"),
    ("cubic", "rfc", "accecn"),
    ("dctcp", "rfc", "classic"),
    ("vegas", "rfc", "off"),
    ("vegas", "ns-2", "off"),  # without handshake, SYN and header bytes
]


@pytest.mark.parametrize("aqm", ["droptail", "red"])
@pytest.mark.parametrize(("tcp", "profile", "ecn"), SENDERS)
def test_retransmissions_are_where_the_simulator_counted_them(
    penstock: Command, tmp_path: Path, tcp: str, profile: str, ecn: str, aqm: str
) -> None:
    scenario = tmp_path / "busy.toml"
    text = BUSY.replace("TCP", tcp).replace("ECN", ecn).replace("AQM", aqm).replace("PROFILE", profile)
    scenario.write_text(text, encoding="utf-8")
    seen = look(penstock, scenario)
    valid(seen)
    retransmitted(seen)
    assert seen.metrics["retransmits"] > 0
    for option in ("tcp.options.sack_perm", "tcp.options.sack_le"):
        assert bool(seen.flagged(option)) == (tcp in {"sack", "cubic", "dctcp"})
    for row in seen.rows:
        if row["tcp.options.sack_le"]:
            assert int(row["tcp.ack"]) < int(row["tcp.options.sack_le"]) < int(row["tcp.options.sack_re"])
    if profile == "rfc":  # 1000 segments of 1000 B; a SYN's window is not scaled
        windows = {(row["tcp.flags.syn"], row["tcp.window_size"]) for row in seen.rows if row["tcp.stream"]}
        assert windows == {("1", "65535"), ("0", "1000000")}


# Where there are more links than one, not every flow crosses the captured one.
DUMBBELLS = [file for file in sorted(SCENARIOS.glob("*.toml")) if 'kind = "dumbbell"' in file.read_text("utf-8")]


#: What there is in the first seconds; all of a file's run takes tshark up to half a minute to read.
BEGINNING = ("--set", 'duration="4 s"')
#: The same of a link of 1 Gbit/s.
EARLIEST = ("--set", 'duration="0.2 s"')


@pytest.mark.parametrize("length", [BEGINNING, pytest.param((), marks=pytest.mark.long)], ids=["beginning", "all"])
@pytest.mark.parametrize("file", DUMBBELLS, ids=lambda file: file.stem)
def test_shipped_scenarios(penstock: Command, tmp_path: Path, file: Path, length: tuple[str, ...]) -> None:
    scenario = tmp_path / file.name
    shutil.copy(file, scenario)
    seen = look(penstock, scenario, *(EARLIEST if length and file.stem == "hull" else length))
    valid(seen)
    # A browser's request is no segment of a sender, but is sent again like one.
    seen.metrics["retransmits"] += seen.metrics.get("request_repeats", 0)
    # Here senders are at work until the end: what they sent last has not reached the queue.
    missing = seen.metrics["retransmits"] - len(seen.repeated())
    assert 0 <= missing <= 3
    seen.metrics["retransmits"] -= missing
    retransmitted(seen)


def test_marks_show_behind_the_queue(penstock: Command, small: Path) -> None:
    before, after = look(penstock, small), look(penstock, small, "--pcap-link", "bottleneck:out")
    assert before.metrics == after.metrics  # watching changes nothing
    assert before.metrics["marks_ce"] > 10

    def forward(seen: Seen) -> list[dict[str, str]]:
        return [row for row in seen.rows if row["tcp.len"] != "0" or row in seen.segments()]

    def marked(seen: Seen) -> int:
        return sum(row["ip.dsfield.ecn"] == "3" for row in seen.rows)

    assert (marked(before), marked(after)) == (0, before.metrics["marks_ce"])
    assert len(forward(before)) == before.metrics["arrivals"]
    assert len(forward(after)) == before.metrics["departures"]
    valid(before)
    assert after.flagged("_ws.malformed") == set()
    times = [float(row[0]) for row in read(small.parent / "c.pcap", "frame.time_epoch")]
    assert times == sorted(times)
    assert times[-1] < 5


# ---- what the two ends say of marks --------------------------------------------------------------------------------


def by_kind(seen: Seen) -> dict[str, list[dict[str, str]]]:
    """The rows of TCP, sorted by what they are."""
    kinds: dict[str, list[dict[str, str]]] = {"SYN": [], "SYN-ACK": [], "data": [], "ACK": []}
    for row in seen.rows:
        if row["tcp.stream"]:
            syn, ack = row["tcp.flags.syn"] == "1", row["tcp.flags.ack"] == "1"
            kind = ("SYN-ACK" if ack else "SYN") if syn else "data" if row["tcp.len"] != "0" else "ACK"
            kinds[kind].append(row)
    return kinds


def ends(penstock: Command, folder: Path, tcp: str, ecn: str, aqm: str, *options: str) -> Seen:
    """One direction of bulk flows behind the queue."""
    scenario = folder / "ends.toml"
    text = BUSY[: BUSY.index('[[traffic]]\nkind = "ftp"\ndirection')].replace("PROFILE", "rfc")
    scenario.write_text(text.replace("TCP", tcp).replace("ECN", ecn).replace("AQM", aqm), encoding="utf-8")
    return look(penstock, scenario, "--pcap-link", "bottleneck:out", *options)


@pytest.mark.parametrize("codepoints", ["wire", "literal"])
def test_multi_level_ecn(penstock: Command, tmp_path: Path, codepoints: str) -> None:
    keys = [f'{where}.codepoints="{codepoints}"' for where in ("aqm", "traffic.0", "traffic.1")]
    options = [part for key in [*keys, "aqm.mid_th=6"] for part in ("--set", key)]
    seen = ends(penstock, tmp_path, "reno", "mecn", "mecn", *options)
    kinds = by_kind(seen)
    assert {header_bits(row) for row in kinds["SYN"] + kinds["SYN-ACK"]} == {0b010}
    assert {header_bits(row) for row in kinds["data"]} == {0b001, 0b000}  # no congestion; window reduced
    assert {header_bits(row) for row in kinds["ACK"]} == {0b001, 0b010, 0b011}
    assert {row["ip.dsfield.ecn"] for row in kinds["SYN"] + kinds["SYN-ACK"] + kinds["ACK"]} == {"0"}
    incipient, capable = ("1", "2") if codepoints == "wire" else ("2", "1")
    fields = Counter(row["ip.dsfield.ecn"] for row in kinds["data"])
    assert fields[capable] > fields[incipient] > 20
    assert (fields[incipient], fields["3"]) == (seen.metrics["marks_incipient"], seen.metrics["marks_ce"])
    # Every packet has an ACK of its own, and all arrive before the end.
    answers = Counter(header_bits(row) for row in kinds["ACK"])
    assert (answers[0b010], answers[0b011]) == (fields[incipient], fields["3"])


def test_accurate_ecn(penstock: Command, tmp_path: Path) -> None:
    kinds = by_kind(ends(penstock, tmp_path, "cubic", "accecn", "red"))
    assert {header_bits(row) for row in kinds["SYN"]} == {0b111}
    assert {header_bits(row) for row in kinds["SYN-ACK"]} == {0b010}  # to a SYN that is Not-ECT
    assert {header_bits(row) for row in kinds["data"]} == {0b101}  # no ACK was ever marked: the first count
    for stream in {row["tcp.stream"] for row in kinds["data"]}:
        marked = sum(row["ip.dsfield.ecn"] == "3" for row in kinds["data"] if row["tcp.stream"] == stream)
        last = [header_bits(row) for row in kinds["ACK"] if row["tcp.stream"] == stream][-1]
        assert last == (5 + marked) % 8
    assert len({header_bits(row) for row in kinds["ACK"]}) == 8


def test_the_accecn_option(penstock: Command, tmp_path: Path) -> None:
    """What tshark reads in the last option of each connection is what it saw arrive, segments counted as full ones."""
    seen = ends(penstock, tmp_path, "cubic", "accecn", "red", "--set", "traffic.0.accecn_option=true")
    assert seen.flagged("_ws.malformed") == set()
    assert {row["tcp.checksum.status"] for row in seen.rows if row["tcp.stream"]} == {"1"}
    data = [row for row in by_kind(seen)["data"] if int(row["tcp.len"]) > 1]
    counters = [f"tcp.options.acc_ecn.{name}" for name in ("ee0b", "eceb", "ee1b")]
    told = read(tmp_path / "c.pcap", "tcp.stream", "tcp.flags.syn", *counters, keep="tcp.options.acc_ecn")
    assert all(row[2:] == ["1", "0", "1"] for row in told if row[1] == "1"), "answers to SYNs"
    last = {row[0]: row[2:] for row in told if "" not in row}
    assert len(last) == 4
    for stream, (ee0b, eceb, ee1b) in last.items():
        fields = Counter(row["ip.dsfield.ecn"] for row in data if row["tcp.stream"] == stream)
        assert fields["3"] > 3
        assert (int(ee0b), int(eceb), int(ee1b)) == (1 + 1000 * fields["2"], 1000 * fields["3"], 1)


def test_dctcp_opens_with_capable_packets(penstock: Command, tmp_path: Path) -> None:
    kinds = by_kind(ends(penstock, tmp_path, "dctcp", "classic", "red"))
    assert {row["ip.dsfield.ecn"] for row in kinds["SYN-ACK"]} == {"2"}
    assert {row["ip.dsfield.ecn"] for row in kinds["SYN"]} <= {"2", "3"}
    assert {row["ip.dsfield.ecn"] for row in kinds["ACK"]} == {"0"}
    echoes = sum(header_bits(row) == 0b001 for row in kinds["ACK"])
    assert echoes == sum(row["ip.dsfield.ecn"] == "3" for row in kinds["data"])


PARKING_LOT = """\
duration = "5 s"

[topology]
kind = "parking-lot"
hops = 2
link = { rate = "2 Mbit/s", delay = "10 ms", buffer = "20 packets" }
cross_flows = 1
access = { rate = "10 Mbit/s", delay = "2 ms" }

[aqm]
kind = "droptail"

[[traffic]]
kind = "ftp"
from = "R0"
"""


@pytest.mark.parametrize("link", ["R0-R1", "R1-R0", "R1-R2"])
def test_both_directions_of_a_hop(penstock: Command, tmp_path: Path, link: str) -> None:
    scenario = tmp_path / "lot.toml"
    scenario.write_text(PARKING_LOT, encoding="utf-8")
    seen = look(penstock, scenario, "--pcap-link", link)
    streams = {row["tcp.stream"] for row in seen.segments()}
    assert len(streams) == 2  # the through flow and this hop's own
    assert {row["tcp.stream"] for row in seen.rows if row["tcp.len"] == "0" and row["tcp.flags.syn"] == "0"} == streams


BROWSER = """\
duration = "5 s"
topology.bottleneck = { rate = "8 Mbit/s", delay = "10 ms", buffer = 1000 }

[[traffic]]
kind = "web"
connections = 3
request = "360 B"
objects_per_page = 12
object = { constant = "2500 B" }
think = { constant = "1 h" }
"""


@pytest.mark.parametrize("persistent", ["true", "false"])
def test_requests_go_the_way_of_the_acks(penstock: Command, tmp_path: Path, persistent: str) -> None:
    scenario = tmp_path / "browser.toml"
    scenario.write_text(f"{BROWSER}persistent = {persistent}\n", encoding="utf-8")
    done = penstock("run", scenario, "--pcap", "x.pcap")
    assert done.returncode == 0, done.stderr
    capture = tmp_path / "x.pcap"
    asked = read(capture, "tcp.stream", "tcp.seq", keep="tcp.len == 360")
    assert len(asked) == 12
    assert len({stream for stream, _ in asked}) == (3 if persistent == "true" else 12)
    numbers = [int(seq) for stream, seq in asked if stream == "0"]
    assert numbers == [1 + 360 * i for i in range(len(numbers))]
    wrong = "tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment || tcp.analysis.out_of_order"
    assert read(capture, "frame.number", keep=f"({wrong}) && tcp.flags.syn == 0") == []
    answered = dict(read(capture, "tcp.stream", "tcp.ack", keep="tcp.len > 360"))  # the last data of each stream
    counts = Counter(stream for stream, _ in asked)
    assert answered == {stream: str(1 + 360 * count) for stream, count in counts.items()}


def test_a_link_that_is_not_there(penstock: Command, small: Path) -> None:
    done = penstock("run", small, "--pcap", "x.pcap", "--pcap-link", "bottleneckk:out")
    assert done.returncode == 2
    assert "no link is called bottleneckk" in done.stderr
    assert not (small.parent / "x.pcap").exists()
