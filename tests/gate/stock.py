#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""For stock.t: checks what the gate signed with programs of others, and takes texts apart.

  stock.py dsse PEM FILE         each envelope of a bundle, its PAE by openssl
  stock.py link PEM FILE         a link, by Debian's in-toto
  stock.py commit                stdin: a commit; writes signed bytes to payload, armor to armor
  stock.py flip FILE WHERE       FILE with one bit of WHERE flipped: payload, sig (base64 members,
                                 of JSON in lines), signed:TEXT or hex-sig (a link), byte:N
"""
import base64
import json
import os
import re
import subprocess
import sys
import tempfile


def openssl(pem, message, signature):
    with tempfile.TemporaryDirectory() as d:
        for name, data in (("m", message), ("s", signature)):
            with open(os.path.join(d, name), "wb") as f:
                f.write(data)
        return subprocess.run(
            ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", pem, "-rawin", "-in", d + "/m",
             "-sigfile", d + "/s"], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL).returncode == 0


def dsse(pem, path):
    with open(path) as f:
        envelopes = [json.loads(line) for line in f]
    if len(envelopes) != 5:
        sys.exit("%d envelopes" % len(envelopes))
    for e in envelopes:
        body = base64.b64decode(e["payload"], validate=True)
        kind = e["payloadType"].encode()
        pae = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(body), body)
        [signature] = e["signatures"]
        if not openssl(pem, pae, base64.b64decode(signature["sig"], validate=True)):
            sys.exit("bad signature")
        statement = json.loads(body)
        print(statement["predicateType"], statement["subject"][0]["digest"]["gitCommit"])


def link(pem, path):
    from in_toto.models.metadata import Metablock
    from securesystemslib.formats import encode_canonical
    der = base64.b64decode("".join(open(pem).read().splitlines()[1:-1]))
    key = {"keytype": "ed25519", "scheme": "ed25519",
           "keyid_hash_algorithms": ["sha256", "sha512"],
           "keyval": {"public": der[-32:].hex()}}
    import hashlib
    key["keyid"] = hashlib.sha256(encode_canonical(key).encode()).hexdigest()
    block = Metablock.load(path)
    block.verify_signature(key)
    print(block.signed.name, len(block.signed.products))


def commit():
    data = sys.stdin.buffer.read()
    head, body = data.split(b"\n\n", 1)
    armor = re.search(rb"^gpgsig (.*?)\n(?! )", head + b"\n", re.M | re.S).group(1)
    with open("armor", "wb") as f:
        f.write(armor.replace(b"\n ", b"\n") + b"\n")
    with open("payload", "wb") as f:
        f.write(re.sub(rb"gpgsig .*?\n(?! )", b"", head + b"\n", flags=re.S) + b"\n" + body)


def flipped(data, n):
    data = bytearray(data)
    data[n] ^= 1
    return bytes(data)


def flip(path, where):
    with open(path, "rb") as f:
        data = f.read()
    if where.startswith("byte:"):
        return flipped(data, int(where[5:]))
    if where.startswith("signed:"):
        return flipped(data, data.index(where[7:].encode()))
    if where == "hex-sig":
        n = data.index(b'"sig":"') + 9
        return data[:n] + (b"0" if data[n:n + 1] != b"0" else b"1") + data[n + 1:]
    lines = data.splitlines(keepends=True)
    e = json.loads(lines[0])
    part = e if where == "payload" else e["signatures"][0]
    raw = base64.b64decode(part[where])
    part[where] = base64.b64encode(flipped(raw, len(raw) // 2)).decode()
    return json.dumps(e).encode() + b"\n" + b"".join(lines[1:])


def main():
    what, arguments = sys.argv[1], sys.argv[2:]
    if what == "flip":
        data = flip(*arguments)
        with open(arguments[0], "wb") as f:
            f.write(data)
        return
    {"dsse": dsse, "link": link, "commit": commit}[what](*arguments)


main()
