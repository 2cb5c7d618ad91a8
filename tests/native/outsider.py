# SPDX-License-Identifier: MIT
"""outsider.py OUT: gives a descriptor of OUT/file, open for writing, to whoever asks; else sleeps."""
import os
import socket
import sys

out = sys.argv[1]
fd = os.open(os.path.join(out, "file"), os.O_WRONLY | os.O_APPEND)
s = socket.socket(socket.AF_UNIX)
s.bind(os.path.join(out, "socket"))
s.listen()
with open(os.path.join(out, "peer"), "w", encoding="ascii") as f:
    f.write(str(os.getpid()))
while True:
    c, _ = s.accept()
    socket.send_fds(c, [b"x"], [fd])
    c.close()
