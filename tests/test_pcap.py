"""Captures, read by tshark: another program's idea of TCP."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from conftest import Command

TSHARK = shutil.which("tshark")

pytestmark = pytest.mark.skipif(TSHARK is None, reason="no tshark: apt-get install tshark")


def read(capture: Path, *columns: str, keep: str = "") -> list[list[str]]:
    """The named fields of every packet that the display filter keeps."""
    assert TSHARK is not None
    line = [TSHARK, "-r", str(capture), "-T", "fields", "-E", "separator=,", "-E", "occurrence=f"]
    line += ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    line += [part for column in columns for part in ("-e", column)] + (["-Y", keep] if keep else [])
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=True)
    return [row.split(",") for row in done.stdout.splitlines()]


@pytest.fixture
def capture(penstock: Command, small: Path) -> Path:
    done = penstock("run", small, "--pcap", "x.pcap", "--json")
    assert done.returncode == 0, done.stderr
    (small.parent / "run.json").write_text(done.stdout, encoding="utf-8")
    return small.parent / "x.pcap"


def test_tshark_reads_valid_tcp(capture: Path) -> None:
    packets = read(capture, "frame.number", "ip.proto")
    assert Counter(row[1] for row in packets).keys() == {"6", "17"}
    assert read(capture, "frame.number", keep="_ws.malformed") == []
    wrong = 'ip.checksum.status == "Bad" || tcp.checksum.status == "Bad" || udp.checksum.status == "Bad"'
    assert read(capture, "frame.number", keep=wrong) == []
    good = read(capture, "frame.number", keep='tcp.checksum.status == "Good"')
    assert len(good) == len(read(capture, "frame.number", keep="tcp"))


def test_every_connection_opens_with_a_handshake(capture: Path) -> None:
    streams = {row[0] for row in read(capture, "tcp.stream", keep="tcp")}
    opened = {row[0] for row in read(capture, "tcp.stream", keep="tcp.flags.syn == 1 && tcp.flags.ack == 0")}
    answered = {row[0] for row in read(capture, "tcp.stream", keep="tcp.flags.syn == 1 && tcp.flags.ack == 1")}
    assert streams == opened == answered
    assert len(streams) == 3


def test_ecn_bits(capture: Path) -> None:
    capable = read(capture, "frame.number", keep="tcp.len > 0 && ip.dsfield.ecn == 2")
    assert len(capable) > 100
    assert read(capture, "frame.number", keep="tcp.flags.syn == 1 && ip.dsfield.ecn != 0") == []
    assert read(capture, "frame.number", keep="tcp.len == 0 && ip.dsfield.ecn != 0") == []
    assert read(capture, "frame.number", keep="udp && ip.dsfield.ecn != 0") == []
    marked = json.loads((capture.parent / "run.json").read_text(encoding="utf-8"))["runs"][0]["metrics"]["marks_ce"]
    if marked:
        assert read(capture, "frame.number", keep="tcp.flags.ece == 1 && tcp.flags.syn == 0")
        assert read(capture, "frame.number", keep="tcp.flags.cwr == 1 && tcp.flags.syn == 0")
