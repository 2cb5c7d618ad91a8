#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""hammer.py DIR   outsiders that do what members do, in DIR, until they are killed: two as fast as
                they can, and one at real-time priority, which wakes up in the middle of others
"""
import os
import signal
import sys
import time


def turn(name):
    os.close(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600))
    os.chmod(name, 0o640)
    os.rename(name, name + ".new")
    os.symlink("nothing", name)
    os.unlink(name)
    os.unlink(name + ".new")
    os.mkdir(name)
    os.rmdir(name)


def main():
    os.chdir(sys.argv[1])
    for i in range(3):
        if os.fork() == 0:
            signal.alarm(3000)
            if i == 0:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
            while True:
                turn("hammer%d" % i)
                if i == 0:
                    time.sleep(0.0003)
    signal.pause()


try:
    main()
finally:
    os.killpg(0, signal.SIGKILL)
