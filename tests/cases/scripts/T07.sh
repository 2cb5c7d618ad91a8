#!/bin/bash
# SPDX-License-Identifier: MIT
# T07 - Benign: unit tests with processes, shared memory, a temporary file and a server on loopback
# shellcheck disable=all # a recipe
. "$(dirname "$(readlink -f "$0")")/lab.sh"
cat > $LAB/ws/test_lab.py <<'END'
import multiprocessing, os, signal, socket, tempfile, threading, unittest
from multiprocessing import shared_memory


def twice(n):
    return 2 * n


class Lab(unittest.TestCase):
    def test_pool(self):
        with multiprocessing.Pool(2) as pool:
            self.assertEqual(pool.map(twice, range(8)), list(range(0, 16, 2)))

    def test_shared_memory(self):
        shm = shared_memory.SharedMemory(create=True, size=64)
        shm.buf[0] = 7
        again = shared_memory.SharedMemory(name=shm.name)
        self.assertEqual(again.buf[0], 7)
        again.close()
        shm.close()
        shm.unlink()

    def test_temporary_file(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"x")

    def test_loopback(self):
        server = socket.create_server(("127.0.0.1", 0))

        def serve():
            with server.accept()[0] as peer:
                peer.sendall(b"hello")

        thread = threading.Thread(target=serve)
        thread.start()
        with socket.create_connection(server.getsockname()) as client:
            self.assertEqual(client.recv(5), b"hello")
        thread.join()
        server.close()

    def test_own_child(self):
        child = os.fork()
        if child == 0:
            signal.pause()
        os.kill(child, signal.SIGTERM)
        self.assertEqual(os.WTERMSIG(os.waitpid(child, 0)[1]), signal.SIGTERM)
END
( cd $LAB/ws; git add -A; git commit -qm project; git push -q origin HEAD:main )
run 'python3 -m unittest -v && touch passed'
eff '[ -e $LAB/ws/passed ]'
