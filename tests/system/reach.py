#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""reach.py do NAME...   members' acts; prints "NAME ok" or "NAME" and the error
   reach.py serve DIR      an outsider: listens at tcp4 and tcp6, unix and abstract sockets, receives
                           datagrams; writes its ports to DIR/ports and then waits
"""
import ctypes
import errno
import os
import socket
import struct
import sys
import threading

libc = ctypes.CDLL(None, use_errno=True)
ACTS = {}


def act(function):
    ACTS[function.__name__] = function
    return function


def port(kind):
    with open(os.environ["SERVED"] + "/ports", encoding="ascii") as f:
        return int(dict(line.split() for line in f)[kind])


def tcp(family, address):
    with socket.socket(family) as s:
        s.connect(address)


@act
def tcp4():
    tcp(socket.AF_INET, ("127.0.0.1", port("tcp4")))


@act
def tcp6():
    tcp(socket.AF_INET6, ("::1", port("tcp6")))


@act
def mapped():
    tcp(socket.AF_INET6, ("::ffff:127.0.0.1", port("tcp4")))


@act
def nowhere():
    """0.0.0.0 is this host."""
    tcp(socket.AF_INET, ("0.0.0.0", port("tcp4")))


@act
def udp_connected():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect(("127.0.0.1", port("udp4")))
        s.send(b"x")


@act
def udp_mapped():
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.sendto(b"x", ("::ffff:127.0.0.1", port("udp4")))


@act
def uring():
    """IORING_OP_CONNECT."""
    params = ctypes.create_string_buffer(120)
    ring = libc.syscall(425, 4, params)
    if ring < 0:
        raise OSError(ctypes.get_errno(), "io_uring")
    offsets = struct.unpack_from("10I", params.raw, 40)
    done = struct.unpack_from("10I", params.raw, 80)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                          ctypes.c_int, ctypes.c_long]
    sq = libc.mmap(None, 4096, 3, 1, ring, 0)
    cq = libc.mmap(None, 4096, 3, 1, ring, 0x8000000)
    entries = libc.mmap(None, 4096, 3, 1, ring, 0x10000000)
    s = socket.socket()
    address = struct.pack("=H", socket.AF_INET) + struct.pack(">H", port("tcp4")) + \
        socket.inet_aton("127.0.0.1") + bytes(8)
    where = ctypes.create_string_buffer(address)
    # opcode 16, the descriptor, off = length of the address, addr
    ctypes.memmove(entries, struct.pack("=BBHiQQ", 16, 0, 0, s.fileno(), len(address),
                                        ctypes.addressof(where)) + bytes(40), 64)
    ctypes.c_uint.from_address(sq + offsets[6]).value = 0
    ctypes.c_uint.from_address(sq + offsets[1]).value = 1
    if libc.syscall(426, ring, 1, 1, 1, None, 0) < 0:
        raise OSError(ctypes.get_errno(), "io_uring_enter")
    result = ctypes.c_int.from_address(cq + done[5] + 8).value
    if result < 0:
        raise OSError(-result, "connect")


@act
def among():
    """A server and a client, both members."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        tcp(socket.AF_INET, server.getsockname())


@act
def among_udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        server.bind(("127.0.0.1", 5353))
        client.sendto(b"x", ("127.0.0.1", 5353))
        server.settimeout(5)
        server.recv(1)


def take_over(kind, type_, option):
    """A place beside an outsider who shares his port."""
    with socket.socket(socket.AF_INET, type_) as server:
        server.setsockopt(socket.SOL_SOCKET, option, 1)
        server.bind(("127.0.0.1", port(kind)))
        if type_ == socket.SOCK_STREAM:
            server.listen()


@act
def take_tcp():
    take_over("shared_tcp", socket.SOCK_STREAM, socket.SO_REUSEPORT)


@act
def take_udp():
    take_over("shared_udp", socket.SOCK_DGRAM, socket.SO_REUSEADDR)


@act
def listen_all():
    with socket.socket() as server:
        server.bind(("0.0.0.0", 8080))
        server.listen()


@act
def path():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(os.environ["SERVED"] + "/stream")


@act
def abstract():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect("\0weir-reach")


@act
def datagram():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(b"x", os.environ["SERVED"] + "/datagram")


@act
def pair():
    """What members make is theirs: pairs, and descriptors passed through them."""
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    socket.send_fds(a, [b"x"], [other.fileno()])
    if len(socket.recv_fds(b, 1, 1)[1]) != 1:
        raise OSError(errno.EPERM, "no descriptor came")


@act
def passed():
    """A socket that an outsider made, from the outsider."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(os.environ["SERVED"] + "/stream")
        if not socket.recv_fds(s, 1, 1)[1]:
            raise OSError(errno.EPERM, "no descriptor came")


@act
def interfaces():
    """Questions to the kernel about its tables are no change."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        s.send(struct.pack("IHHIIB3x", 20, 18, 0x301, 1, 0, 0))
        s.recv(65536)


def main_do(names):
    for name in names:
        try:
            ACTS[name]()
            print(name, "ok")
        except OSError as e:
            print(name, errno.errorcode.get(e.errno, e))


def hand_over(listener):
    """Passes a socket to each that connects."""
    mine = socket.socket()
    while True:
        c, _ = listener.accept()
        try:
            socket.send_fds(c, [b"x"], [mine.fileno()])
        except OSError:
            pass


def serve(where):
    kept, ports = [], {}
    for kind, family, type_, address in (
            ("tcp4", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            ("tcp6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0)),
            ("udp4", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            ("shared_tcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            ("shared_udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            (None, socket.AF_UNIX, socket.SOCK_STREAM, where + "/stream"),
            (None, socket.AF_UNIX, socket.SOCK_STREAM, "\0weir-reach"),
            (None, socket.AF_UNIX, socket.SOCK_DGRAM, where + "/datagram")):
        s = socket.socket(family, type_)
        if kind and kind.startswith("shared"):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(address)
        if type_ == socket.SOCK_STREAM:
            s.listen(64)
        if kind:
            ports[kind] = s.getsockname()[1]
        kept.append(s)
    threading.Thread(target=hand_over, args=(kept[5],), daemon=True).start()
    with open(where + "/ports.new", "w", encoding="ascii") as f:
        f.writelines("%s %d\n" % p for p in ports.items())
    os.rename(where + "/ports.new", where + "/ports")
    threading.Event().wait()


if __name__ == "__main__":
    if sys.argv[1] == "do":
        main_do(sys.argv[2:])
    else:
        serve(sys.argv[2])
