#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""seal.py change DIR OTHER: tries each way to change DIR (with file, sub/, linked, whose other name
is OTHER); prints those that passed, and all errors but EPERM.
seal.py hold FILE open|map SECONDS: has it open, or mapped, for writing; prints its pid first."""
import ctypes
import errno
import fcntl
import mmap
import os
import struct
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
FS_IOC_SETFLAGS = 0x40086602
FS_NODUMP_FL = 0x40


def opened(path, flags):
    os.close(os.open(path, flags, 0o644))


def set_flags(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.ioctl(fd, FS_IOC_SETFLAGS, struct.pack("l", FS_NODUMP_FL))
    finally:
        os.close(fd)


def by_handle(path):
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    if libc.name_to_handle_at(-100, path.encode(), handle, ctypes.byref(mount), 0) < 0:
        raise OSError(ctypes.get_errno(), "name_to_handle_at")
    at = os.open(path, os.O_RDONLY)
    fd = libc.open_by_handle_at(at, handle, os.O_WRONLY)
    os.close(at)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "open_by_handle_at")
    os.close(fd)


def ways(top, other):
    f, sub = top + "/file", top + "/sub"
    outside = os.path.dirname(other)
    return {
        "open": lambda: opened(f, os.O_WRONLY),
        "open RW": lambda: opened(f, os.O_RDWR),
        "truncate on open": lambda: opened(f, os.O_WRONLY | os.O_TRUNC),
        "truncate": lambda: os.truncate(f, 0),
        "create": lambda: opened(top + "/new", os.O_WRONLY | os.O_CREAT),
        "create below": lambda: opened(sub + "/new", os.O_WRONLY | os.O_CREAT),
        "O_TMPFILE": lambda: opened(top, os.O_RDWR | os.O_TMPFILE),
        "mkdir": lambda: os.mkdir(top + "/d"),
        "mkfifo": lambda: os.mkfifo(top + "/p"),
        "symlink": lambda: os.symlink("x", top + "/l"),
        "link in": lambda: os.link(outside + "/own", top + "/in"),
        "link out": lambda: os.link(f, outside + "/out"),
        "rename inside": lambda: os.rename(f, top + "/g"),
        "rename out": lambda: os.rename(f, outside + "/g"),
        "rename in": lambda: os.rename(outside + "/own", f),
        "unlink": lambda: os.unlink(f),
        "rmdir": lambda: os.rmdir(sub),
        "chmod": lambda: os.chmod(f, 0o777),
        "chown": lambda: os.chown(f, 1, 1),
        "times": lambda: os.utime(f, (1, 1)),
        "xattr": lambda: os.setxattr(f, "user.x", b"y"),
        "ioctl": lambda: set_flags(f),
        "by handle": lambda: by_handle(f),
        "the other name": lambda: opened(other, os.O_WRONLY),
        "its mode": lambda: os.chmod(other, 0o600),
        "rename of the tree": lambda: os.rename(top, top + ".away"),
    }


def change(top, other):
    for name, way in ways(top, other).items():
        try:
            way()
        except OSError as e:
            if e.errno != errno.EPERM:
                print(name + ":", e)
            continue
        print(name)


def hold(path, how, seconds):
    fd = os.open(path, os.O_RDWR)
    if how == "map":  # Python's own mapping keeps a descriptor
        libc.mmap.restype = ctypes.c_void_p
        area = libc.mmap(None, 4096, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, fd, 0)
        os.close(fd)
        ctypes.memset(area, ord("X"), 1)
    print(os.getpid(), flush=True)
    time.sleep(float(seconds))


if __name__ == "__main__":
    {"change": change, "hold": hold}[sys.argv[1]](*sys.argv[2:])
