"""Carries packets between two TUN devices, late and not all of them: `carrier.py A B DELAY LOSS`.

Stands in for netem where the kernel has none. The devices live as long as this process does.
"""

import fcntl
import heapq
import os
import random
import select
import struct
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
PACKET_BYTES_MAX = 65_536
PACKETS_MAX = 10_000  # on their way; as on a real line, more are lost


def main() -> None:
    near, far, delay_s, loss = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
    ends = (open_tun(near), open_tun(far))
    other = {ends[0]: ends[1], ends[1]: ends[0]}
    print("ready", flush=True)
    carry(other, delay_s, loss)


def open_tun(name: str) -> int:
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return end


def carry(other: dict[int, int], delay_s: float, loss: float) -> None:
    chance = random.Random(1)  # the same losses every time
    underway: list[tuple[float, int, int, bytes]] = []  # when, which, where to, what
    number = 0
    while True:
        wait_s = max(0.0, underway[0][0] - time.monotonic()) if underway else None
        for end in select.select(list(other), [], [], wait_s)[0]:
            packet = os.read(end, PACKET_BYTES_MAX)
            if chance.random() >= loss and len(underway) < PACKETS_MAX:
                number += 1
                heapq.heappush(underway, (time.monotonic() + delay_s, number, other[end], packet))
        while underway and underway[0][0] <= time.monotonic():
            _, _, end, packet = heapq.heappop(underway)
            try:
                os.write(end, packet)
            except OSError:  # the device is down: a line that is cut
                continue


if __name__ == "__main__":
    main()
