#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks a transparency log by RFC 6962 and C2SP's texts alone: none of weir's code, no library
but Python's own; signatures by openssl.

  tlog.py log DIR VKEY                  all of a log; prints its entries, one a line
  tlog.py proof VKEY PROOF ENTRY        that a file's bytes are in the log
  tlog.py prefix SIZE ROOT-HEX VKEY CONSISTENCY PROOF
                                        that the log of SIZE is a prefix of the proof's
"""
import base64
import hashlib
import os
import subprocess
import sys
import tempfile


class Bad(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Bad(what)


def leaf(data):
    return hashlib.sha256(b"\0" + data).digest()


def node(left, right):
    return hashlib.sha256(b"\1" + left + right).digest()


def mth(leaves):
    """2.1 of RFC 6962, over hashes of leaves"""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    k = 1
    while 2 * k < len(leaves):
        k *= 2
    return node(mth(leaves[:k]), mth(leaves[k:]))


def root_from_path(m, n, path, h):
    """What 2.1.1 of RFC 6962 builds, undone: the root of n leaves from leaf m and its path"""
    if n == 1:
        need(not path, "path too long")
        return h
    need(path, "path too short")
    k = 1
    while 2 * k < n:
        k *= 2
    if m < k:
        return node(root_from_path(m, k, path[:-1], h), path[-1])
    return node(path[-1], root_from_path(m - k, n - k, path[:-1], h))


def roots_from_proof(m, n, proof, whole, old):
    """2.1.2 of RFC 6962: (old root, new root) that a proof of consistency claims"""
    if m == n:
        if whole:
            need(not proof, "proof too long")
            return old, old
        need(len(proof) == 1, "proof has another length")
        return proof[0], proof[0]
    need(proof, "proof too short")
    k = 1
    while 2 * k < n:
        k *= 2
    if m <= k:
        a, b = roots_from_proof(m, k, proof[:-1], whole, old)
        return a, node(b, proof[-1])
    a, b = roots_from_proof(m - k, n - k, proof[:-1], False, old)
    return node(proof[-1], a), node(proof[-1], b)


def verify_ed25519(public, message, signature):
    der = bytes.fromhex("302a300506032b6570032100") + public
    with tempfile.TemporaryDirectory() as d:
        for name, data in (("key", der), ("message", message), ("signature", signature)):
            with open(os.path.join(d, name), "wb") as f:
                f.write(data)
        done = subprocess.run(
            ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", "key",
             "-rawin", "-in", "message", "-sigfile", "signature"],
            cwd=d, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    need(done.returncode == 0, "bad signature")


def b64(text):
    raw = base64.b64decode(text, validate=True)
    need(base64.b64encode(raw).decode() == text, "base64 with bits that mean nothing")
    return raw


def read_vkey(path):
    """The log's keys, with the number of entries that each may have signed for."""
    keys = []
    with open(path) as f:
        for line in f.read().strip().split("\n"):
            until, line = (line.split(" ")[1:] if keys else (sys.maxsize, line))
            name, key_id, key = line.split("+", 2)
            raw = b64(key)
            need(raw[0] == 1 and len(raw) == 33, "no Ed25519 key")
            want = hashlib.sha256(name.encode() + b"\n" + raw).digest()[:4]
            need(want.hex() == key_id, "key id")
            keys.append((name, want, raw[1:], int(until)))
    return keys


def open_checkpoint(note, keys):
    for name, key_id, public, until in keys:
        try:
            size, root = open_by((name, key_id, public), note)
        except Bad as e:
            if str(e) != "not signed by the log" or (name, key_id, public, until) == keys[-1]:
                raise
            continue
        need(size <= until, "signed by a key that was out of use")
        return size, root


def open_by(vkey, note):
    name, key_id, public = vkey
    text, signatures = note.decode().rsplit("\n\n", 1)
    text += "\n"
    good = 0
    for line in signatures.splitlines():
        dash, who, sig = line.split(" ")
        need(dash == "\u2014", "no signature line")
        raw = b64(sig)
        if who == name and raw[:4] == key_id:
            verify_ed25519(public, text.encode(), raw[4:])
            good += 1
    need(good == 1, "not signed by the log")
    lines = text.split("\n")
    need(lines[0] == name and lines[3:] == [""], "another origin, or extension lines")
    need(str(int(lines[1])) == lines[1], "size")
    root = b64(lines[2])
    need(len(root) == 32, "root")
    return int(lines[1]), root


def tile_name(n):
    parts = ["%03d" % (n % 1000)]
    while n >= 1000:
        n //= 1000
        parts.insert(0, "x%03d" % (n % 1000))
    return "/".join(parts)


def read_tile(top, level, n, width):
    path = "%s/tile/%s/%s" % (top, level, tile_name(n))
    with open(path if width == 256 else "%s.p/%d" % (path, width), "rb") as f:
        return f.read()


def check_log(top, vkey_path):
    with open(top + "/checkpoint", "rb") as f:
        size, root = open_checkpoint(f.read(), read_vkey(vkey_path))
    entries = []
    for n in range((size + 255) // 256):
        width = min(256, size - 256 * n)
        data = read_tile(top, "entries", n, width)
        for _ in range(width):
            length = int.from_bytes(data[:2], "big")
            need(len(data) >= 2 + length, "bundle too short")
            entries.append(data[2:2 + length])
            data = data[2 + length:]
        need(not data, "bundle too long")
    hashes = [leaf(e) for e in entries]
    need(mth(hashes) == root, "the entries have another root")
    level, rows = 0, hashes
    while rows:
        for n in range((len(rows) + 255) // 256):
            want = b"".join(rows[256 * n:256 * n + 256])
            need(read_tile(top, level, n, len(want) // 32) == want, "tile %d/%d" % (level, n))
        rows = [mth(rows[i:i + 256]) for i in range(0, len(rows) - 255, 256)]
        level += 1
    sys.stdout.buffer.write(b"".join(entries))


def read_proof(path, vkey):
    with open(path, "rb") as f:
        head, checkpoint = f.read().split(b"\n\n", 1)
    lines = head.decode().split("\n")
    need(lines[0] == "c2sp.org/tlog-proof@v1", "no proof")
    need(lines[1].startswith("index "), "no index")
    return int(lines[1][6:]), [b64(x) for x in lines[2:]], open_checkpoint(checkpoint, vkey)


def check_proof(vkey_path, proof_path, entry_path):
    index, path, (size, root) = read_proof(proof_path, read_vkey(vkey_path))
    with open(entry_path, "rb") as f:
        h = leaf(f.read())
    need(index < size and root_from_path(index, size, path, h) == root, "not in the log")


def check_prefix(old_size, old_root, vkey_path, consistency_path, proof_path):
    _, _, (size, root) = read_proof(proof_path, read_vkey(vkey_path))
    with open(consistency_path) as f:
        lines = f.read().splitlines()
    m, old = int(old_size), bytes.fromhex(old_root)
    need(lines[0] == "old %d" % m, "of another size")
    proof = [b64(x) for x in lines[1:]]
    if m == 0:
        need(old == mth([]) and not proof, "not empty")
        return
    a, b = roots_from_proof(m, size, proof, True, old)
    need(a == old and b == root, "no prefix")


def main():
    commands = {"log": check_log, "proof": check_proof, "prefix": check_prefix}
    try:
        commands[sys.argv[1]](*sys.argv[2:])
    except (Bad, ValueError, OSError, UnicodeDecodeError) as e:
        sys.exit("tlog.py: %s" % e)


main()
