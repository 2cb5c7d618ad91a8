#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""act.py make|do|tell TABLE ...: the operations of a table.

  make DIR       the objects that they are aimed at, of an outsider
  do DIR WS PID DISK  each operation, by a member, in a process of its own, after a mark in the trace
  tell TRACE     what was found of each, against the table; TAP
"""
import ctypes
import fcntl
import mmap
import os
import re
import resource
import signal
import socket
import stat
import struct
import sys
import time

AT_FDCWD = -100
ACL = struct.pack("<I" + "HHI" * 5, 2, 1, 6, 0xffffffff, 2, 4, 1000, 4, 4, 0xffffffff,
                  16, 4, 0xffffffff, 32, 4, 0xffffffff)
CAPH = struct.pack("II", 0x20080522, 0)
CAPLESS = struct.pack("6I", 1, 1, 0, 0, 0, 0)
libc = ctypes.CDLL(None, use_errno=True)
kept = []


def sc(number, *args):
    """A system call; strings and bytes by address. Returns what it returns, or -errno."""
    plain = []
    for arg in args:
        if isinstance(arg, (str, bytes)):
            kept.append(ctypes.create_string_buffer(os.fsencode(arg)))
            arg = ctypes.addressof(kept[-1])
        plain.append(ctypes.c_long(arg))
    ret = libc.syscall(ctypes.c_long(number), *plain)
    return -ctypes.get_errno() if ret == -1 else ret


def iov(size):
    kept.append(ctypes.create_string_buffer(size))
    return struct.pack("QQ", ctypes.addressof(kept[-1]), size)


def at(text):
    """The address of bytes, or of a path."""
    kept.append(ctypes.create_string_buffer(os.fsencode(text)))
    return ctypes.addressof(kept[-1])


def uring(op, fd=AT_FDCWD, addr=0, length=0, off=0, flags=0, addr3=0, setup=0):
    """One operation by a ring of its own: what it says, or -errno. addr and off may be texts."""
    libc.mmap.restype = ctypes.c_void_p
    params = ctypes.create_string_buffer(struct.pack("III", 0, 0, setup) + bytes(108))
    ring = sc(425, 1, ctypes.addressof(params))
    if ring < 0:
        return ring
    entries = struct.unpack_from("10I", params, 40)
    replies = struct.unpack_from("10I", params, 80)
    size = max(entries[6] + 4, replies[5] + 32)
    top = libc.mmap(None, ctypes.c_size_t(size), 3, 1, ring, ctypes.c_long(0))
    slot = libc.mmap(None, ctypes.c_size_t(64), 3, 1, ring, ctypes.c_long(0x10000000))
    addr, off, addr3 = (at(x) if isinstance(x, (str, bytes)) else x for x in (addr, off, addr3))
    ctypes.memmove(slot, struct.pack("BBHiQQIIQHHiQQ", op, 0, 0, fd, off & (1 << 64) - 1, addr, length & 0xffffffff,
                                     flags, 1, 0, 0, 0, addr3, 0), 64)
    ctypes.c_uint.from_address(top + entries[6]).value = 0
    ctypes.c_uint.from_address(top + entries[1]).value = 1
    sc(426, ring, 1, 1, 3, 0, 0)  # GETEVENTS, SQ_WAKEUP
    ret = ctypes.c_int.from_address(top + replies[5] + 8).value
    if ret < 0:
        print(os.strerror(-ret), flush=True)
    return ret


def handle(path):
    room = ctypes.create_string_buffer(struct.pack("I", 128) + bytes(132))
    mount = ctypes.create_string_buffer(4)
    kept.append(room)
    sc(303, AT_FDCWD, path, ctypes.addressof(room), ctypes.addressof(mount), 0)
    return ctypes.addressof(room)


def put_down():
    """Drops all effective capabilities. Returns: what capset(2) takes to get them back."""
    room = ctypes.create_string_buffer(24)
    sc(125, CAPH, ctypes.addressof(room))
    _, low, _, _, high, _ = struct.unpack("6I", room.raw)
    sc(126, CAPH, struct.pack("6I", 0, low, 0, 0, high, 0))
    return struct.pack("6I", low, low, 0, high, high, 0)


def rows(table):
    with open(table, encoding="ascii") as f:
        lines = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    for line in lines:
        if len(line) != 3 or not (re.fullmatch(r"[a-z-]+:[a-z-]+(,[a-z-]+:[a-z-]+)*", line[1]) or
                                  re.fullmatch(r"-\w.{10,}", line[1])):
            sys.exit(f"{table}: no finding and no reason: {line}")
    return lines


def make(table, base):
    for row in range(len(rows(table))):
        for name in ("f", "x"):
            with open(f"{base}/{name}{row}", "w", encoding="ascii") as f:
                f.write("precious")
        os.setxattr(f"{base}/x{row}", "user.x", b"1")
        os.mkdir(f"{base}/d{row}")
        os.mkdir(f"{base}/e{row}")


def names_of(row, base, ws, victim, disk):
    return {"F": f"{base}/f{row}", "X": f"{base}/x{row}", "D": f"{base}/d{row}",
            "E": f"{base}/e{row}", "N": f"{base}/n{row}", "W": ws, "V": victim, "ROW": row,
            "B": f"{base}/btrfs", "MNT": f"{base}/mnt", "MNT2": f"{base}/mnt2", "SECRET": f"{base}/secret/key",
            "SETID": f"{base}/setid", "OTHER": f"{base}/other", "DISK": disk}


def act(code, names):
    try:
        exec(code, {**globals(), **names})
    except OSError as e:
        print(e, flush=True)
    except SystemExit:
        pass


def do(table, base, ws, victim, disk):
    for row, (operation, _, code) in enumerate(rows(table)):
        print(f"{row} {operation}", flush=True)
        os.mkdir(f"{base}/mark.{row}")
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            act(code, names_of(row, base, ws, int(victim), disk))
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)
    os.mkdir(f"{base}/mark.end")


def numbered(header, name):
    """The names of an X list of the ABI, in its order."""
    with open(header, encoding="ascii") as f:
        text = f.read()
    body = re.search(rf"#define {name}\(X\)((?:.*\\\n)*.*)", text).group(1)
    return re.findall(r'X\(\w+, "([^"]+)"', body)


def events(trace):
    """Events of a trace file (user/trace/format.h), as bytes."""
    with open(trace, "rb") as f:
        data = f.read()
    at, whole = 16, b""
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 4)[0]
        whole += data[at + 16:at + 16 + length]
        at += 16 + length + 32
    at = 0
    while at < len(whole):
        kind, _, length = struct.unpack_from("<HHI", whole, at)
        if kind == 2:
            yield whole[at + 8:at + 8 + length]
        at += 8 + (length + 7) // 8 * 8


def found(trace, header):
    """What was found after each mark: {mark: [KIND:OPERATION]}."""
    kinds, ops = numbered(header, "WEIR_KINDS"), numbered(header, "WEIR_OPS")
    result, mark = {}, None
    for event in sorted(events(trace), key=lambda e: struct.unpack_from("<Q", e, 8)[0]):
        record, = struct.unpack_from("<H", event, 2)
        if record != 1:
            continue
        op, _, kind = struct.unpack_from("<HHH", event, 56)
        flags, = struct.unpack_from("<I", event, 64)
        first_len, = struct.unpack_from("<I", event, 184)
        name = event[256:256 + first_len].split(b"/")[-1].split(b"\0")[0]
        if name.startswith(b"mark."):
            mark = name[5:].decode()
            result[mark] = []
        elif flags & 1 and not flags & 8 and mark is not None:
            what = f"{kinds[kind]}:{ops[op]}"
            if what not in result[mark]:
                result[mark].append(what)
    return result


def tell(table, trace, header):
    got, bad = found(trace, header), 0
    lines = rows(table)
    for row, (operation, expected, _) in enumerate(lines):
        want = [] if expected[0] == "-" else sorted(expected.split(","))
        have = got.get(str(row))
        good = have is not None and sorted(have) == want
        bad += not good
        print(f"{'' if good else 'not '}ok {row + 1} - {operation}: {expected}")
        if not good:
            print(f"# found {have}")
    print(f"{len(lines) - bad} passed, {bad} failed")
    return bad or "end" not in got


if __name__ == "__main__":
    command, arguments = sys.argv[1], sys.argv[2:]
    sys.exit({"make": make, "do": do, "tell": tell}[command](*arguments))
