"""A router for `test_mecn_bpf.py`: two devices, a rate, a delay, and a plan of what happens to a flow's packets.

    mecn_router.py veth DEVICE DEVICE PLAN            two devices of its own namespace, each the other end of a host's
    mecn_router.py tun NAMESPACE NAMESPACE PLAN       makes c0 and s0 there

PLAN is JSON: {"period": N, "at": {"K": "ect1" | "ce" | "drop"}, "rate": BITS_A_SECOND}, the rate 20 Mbit/s unless
given. The K-th of every N packets that a flow sends as ECT(0) from the first device to the second is treated so. Prints
`ready`; at the end of its input its counts and its worst lateness, in seconds, as JSON.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import heapq
import json
import os
import select
import socket
import struct
import sys
import time
from collections import Counter
from pathlib import Path

RATE = 20e6
DELAY = 0.005
SOL_PACKET, PACKET_IGNORE_OUTGOING, ETH_P_ALL = 263, 23, 3
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000


def veth(device: str) -> int:
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    packets.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    packets.bind((device, ETH_P_ALL))
    packets.setblocking(False)
    return packets.detach()


def tun(namespace: str, device: str) -> int:
    """The descriptor stays with the namespace in which it was opened."""
    with Path(namespace).open("rb") as there:
        if ctypes.CDLL(None, use_errno=True).setns(there.fileno(), 0):
            raise OSError(ctypes.get_errno(), "setns")
    opened = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(opened, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TUN | IFF_NO_PI))
    return opened


class Marker:
    """Carries the plan out on packets whose IP header begins at `ip`."""

    def __init__(self, ip: int, plan: str) -> None:
        read = json.loads(plan)
        self.ip, self.period, self.rate = ip, read["period"], read.get("rate", RATE)
        self.at = {int(k): what for k, what in read["at"].items()}
        self.sent: Counter[bytes] = Counter()
        self.done = Counter(ect1=0, ce=0, drop=0)

    def treat(self, packet: bytearray) -> bool:
        """False where the packet is dropped."""
        ip = self.ip
        if len(packet) < ip + 40:
            return True
        version = packet[ip] >> 4
        if version == 4 and packet[ip + 9] == 6:
            ecn, flow = packet[ip + 1] & 3, bytes(packet[ip + 12 : ip + 24])
        elif version == 6 and packet[ip + 6] == 6:
            ecn, flow = packet[ip + 1] >> 4 & 3, bytes(packet[ip + 8 : ip + 44])
        else:
            return True
        if ecn != 2:
            return True
        self.sent[flow] += 1
        what = self.at.get(self.sent[flow] % self.period)
        if what is None:
            return True
        self.done[what] += 1
        if what == "drop":
            return False
        new = 1 if what == "ect1" else 3
        if version == 6:
            packet[ip + 1] = packet[ip + 1] & 0xCF | new << 4
        else:
            packet[ip + 1] = packet[ip + 1] & 0xFC | new
            (checksum,) = struct.unpack_from("!H", packet, ip + 10)
            total = checksum + ecn + 0xFFFF - new  # RFC 1624: in one's complement, minus the new plus the old
            struct.pack_into("!H", packet, ip + 10, (total & 0xFFFF) + (total >> 16))
        return True


def main(kind: str, client: str, server: str, plan: str) -> None:
    ends = [veth(client), veth(server)] if kind == "veth" else [tun(client, "c0"), tun(server, "s0")]
    marker = Marker(14 if kind == "veth" else 0, plan)
    print("ready", flush=True)
    free = [0.0, 0.0]
    flying: list[tuple[float, int, int, bytes]] = []
    number, late = 0, 0.0
    while True:
        wait = max(0.0, flying[0][0] - time.monotonic()) if flying else None
        readable = select.select([0, *ends], [], [], wait)[0]
        now = time.monotonic()
        if 0 in readable and not os.read(0, 100):
            break
        for side, end in enumerate(ends):
            while end in readable:
                try:
                    packet = bytearray(os.read(end, 65536))
                except OSError:  # nothing left, or as below
                    break
                if side == 0 and not marker.treat(packet):
                    continue
                free[side] = max(now, free[side]) + len(packet) * 8 / marker.rate
                number += 1
                heapq.heappush(flying, (free[side] + DELAY, number, ends[1 - side], bytes(packet)))
        while flying and flying[0][0] <= now:
            due, _, end, packet_out = heapq.heappop(flying)
            late = max(late, now - due)
            with contextlib.suppress(OSError):  # the device is down still
                os.write(end, packet_out)
    print(json.dumps({**marker.done, "late": late}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
