# SPDX-License-Identifier: MIT
"""acts.py OUT ACT...: what a member does to things outside, one act a word, in this order."""
import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
import sys

OUT = sys.argv[1]
LIBC = ctypes.CDLL(None, use_errno=True)
GETFLAGS, SETFLAGS = 0x80086601, 0x40086602
SYS_BPF, SYS_IO_URING_SETUP = 321, 425


def out(name):
    return os.path.join(OUT, name)


def peer():
    """The outsider, a process of the same user; its number is in a file."""
    with open(out("peer"), encoding="ascii") as f:
        return int(f.read())


def call(name, *args):
    if getattr(LIBC, name)(*args) < 0:
        raise OSError(ctypes.get_errno(), name)


def flags():
    fd = os.open(out("file"), os.O_RDONLY)
    old = struct.unpack("i", fcntl.ioctl(fd, GETFLAGS, struct.pack("i", 0)))[0]
    fcntl.ioctl(fd, SETFLAGS, struct.pack("i", old))


def receive():
    s = socket.socket(socket.AF_UNIX)
    s.connect(out("socket"))
    socket.recv_fds(s, 1, 1)


def run():
    if os.fork() == 0:
        os.execv(out("program"), ["program"])
    os.wait()


def attach():
    call("ptrace", 0x4206, peer(), 0, 0)


def peek():
    buf = ctypes.create_string_buffer(8)
    local = (ctypes.c_void_p * 2)(ctypes.addressof(buf), 1)
    with open(f"/proc/{peer()}/maps", encoding="ascii") as f:
        far = (ctypes.c_void_p * 2)(int(f.readline().split("-")[0], 16), 1)
    call("process_vm_readv", peer(), local, 1, far, 1, 0)


def ftruncate():
    os.ftruncate(os.open(out("file"), os.O_WRONLY), 4)


def limit():
    resource.prlimit(os.getppid(), resource.RLIMIT_CORE, resource.prlimit(os.getppid(), resource.RLIMIT_CORE))


ACTS = {
    "append": lambda: open(out("file"), "a", encoding="ascii").close(),
    "create": lambda: open(out("new"), "x", encoding="ascii").close(),
    "mkdir": lambda: os.mkdir(out("dir")),
    "mkfifo": lambda: os.mkfifo(out("fifo")),
    "symlink": lambda: os.symlink("file", out("sym")),
    "link": lambda: os.link(out("file"), out("hard")),
    "rename": lambda: os.rename(out("new"), out("newer")),
    "unlink": lambda: os.unlink(out("newer")),
    "rmdir": lambda: os.rmdir(out("dir")),
    "truncate": lambda: os.truncate(out("file"), 4),
    "ftruncate": ftruncate,
    "chmod": lambda: os.chmod(out("file"), 0o600),
    "chown": lambda: os.chown(out("file"), 0, 0),
    "times": lambda: os.utime(out("file")),
    "setxattr": lambda: os.setxattr(out("file"), "user.weir", b"1"),
    "removexattr": lambda: os.removexattr(out("file"), "user.weir"),
    "flags": flags,
    "receive": receive,
    "exec": run,
    "attach": attach,
    "peek": peek,
    "memory": lambda: os.open(f"/proc/{peer()}/mem", os.O_RDONLY),
    "signal": lambda: os.kill(os.getppid(), signal.SIGURG),
    "limit": limit,
    "bpf": lambda: LIBC.syscall(SYS_BPF, 11, ctypes.create_string_buffer(128), 128),
    "uring": lambda: LIBC.syscall(SYS_IO_URING_SETUP, 4, ctypes.create_string_buffer(120)),
}

for act in sys.argv[2:]:
    try:
        ACTS[act]()
    except OSError as e:
        sys.exit(f"{act}: {e}")
