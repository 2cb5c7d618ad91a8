#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""forgepack ID DIR <BYTES: a pack and index in DIR that give the bytes, a blob, another blob's id.
Sources: gitformat-pack(5), index version 2."""
import hashlib
import os
import struct
import sys
import zlib


def head(kind, size):
    out, byte = bytearray(), kind << 4 | size & 15
    size >>= 4
    while size:
        out.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    return bytes(out) + bytes([byte])


def main():
    name, data = bytes.fromhex(sys.argv[1]), sys.stdin.buffer.read()
    entry = head(3, len(data)) + zlib.compress(data, 1)
    pack = b"PACK" + struct.pack(">II", 2, 1) + entry
    pack += hashlib.sha1(pack).digest()
    fanout = b"".join(struct.pack(">I", first >= name[0]) for first in range(256))
    index = b"\xfftOc" + struct.pack(">I", 2) + fanout + name + struct.pack(">II", zlib.crc32(entry), 12) + pack[-20:]
    index += hashlib.sha1(index).digest()
    base = os.path.join(sys.argv[2], "pack-" + pack[-20:].hex())
    for path, content in ((base + ".pack", pack), (base + ".idx", index)):
        with open(path, "wb") as f:
            f.write(content)


main()
