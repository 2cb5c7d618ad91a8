#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Ends that an outsider waits at, and objects that it made."""
import ctypes
import socket
import time

libc = ctypes.CDLL(None)
libc.shmget(4711, 4096, 0o1666)
libc.syscall(240, b"ops", 0o102, 0o666, None)
stream = socket.socket(socket.AF_UNIX)
stream.bind("\0ops-stream")
stream.listen()
datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
datagrams.bind("\0ops-dgram")
time.sleep(1000)
