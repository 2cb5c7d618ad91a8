#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""attack.py do WS OUT HOME [NAME...]: tries each attack, as a member of a run, and writes to WS/said
what came of it: "NAME done" or "NAME ERRNO".
attack.py prepare WS OUT HOME: makes what the attacks need, as an outsider.
attack.py judge RUN WS OUT HOME MODE: reads a run's run.json and WS/said, and prints for each attack
"ok NAME" or "not ok NAME: why"."""
import ctypes
import errno
import fcntl
import json
import os
import shutil
import socket
import stat
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100
ATTACKS = {}


def attack(kind, op, path):
    """The finding that must come of it. {f} is a file of its own outside, {n} a name that is free."""
    def add(function):
        ATTACKS[function.__name__] = (function, kind, op, path)
        return function
    return add


def call(number, *args):
    ret = libc.syscall(ctypes.c_long(number), *[
        ctypes.c_char_p(os.fsencode(a)) if isinstance(a, str) else
        ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if ret < 0:
        raise OSError(ctypes.get_errno(), "syscall %d" % number)
    return ret


def exchange(a, b):
    call(316, AT_FDCWD, a, AT_FDCWD, b, 2)


def write(path, text="x"):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def execute(start):
    """Runs start in a child; raises what it raised."""
    pid = os.fork()
    if pid == 0:
        try:
            start()
        except OSError as e:
            os._exit(e.errno)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status:
        raise OSError(status, "in the child")


# Names and content. ------------------------------------------------------------------------------

@attack("file-outside", "create", "{n}")
def mknod_then_open(ws, f, n, home):
    os.mknod(n, 0o644 | stat.S_IFREG)
    os.open(n, os.O_RDONLY)


@attack("file-outside", "create", "{n}")
def mknod_then_create(ws, f, n, home):
    os.mknod(n, 0o644 | stat.S_IFREG)
    os.open(n, os.O_RDONLY | os.O_CREAT)


@attack("file-outside", "create", "{n}")
def create_with_o_directory(ws, f, n, home):
    # before 6.3 this makes the file, and fails
    try:
        os.open(n, os.O_CREAT | os.O_DIRECTORY, 0o644)
    except OSError as e:
        if e.errno != errno.ENOTDIR:
            raise
    os.open(n, os.O_RDONLY | os.O_CREAT)


@attack("file-outside", "truncate", "{f}")
def truncate_by_path(ws, f, n, home):
    os.truncate(f, 0)


@attack("file-outside", "write", "{f}")
def truncate_read_only(ws, f, n, home):
    os.open(f, os.O_RDONLY | os.O_TRUNC)


@attack("file-outside", "write", "{f}")
def truncate_mode_3(ws, f, n, home):
    os.open(f, 3 | os.O_TRUNC)


@attack("file-outside", "write", "{f}")
def reopen_by_proc(ws, f, n, home):
    os.open("/proc/self/fd/%d" % os.open(f, os.O_RDONLY), os.O_WRONLY)


@attack("file-outside", "write", "{f}")
def reopen_o_path(ws, f, n, home):
    os.open("/proc/self/fd/%d" % os.open(f, os.O_PATH), os.O_WRONLY)


@attack("file-outside", "write", "{f}")
def proc_self_root(ws, f, n, home):
    os.open("/proc/self/root" + f, os.O_WRONLY)


@attack("file-outside", "create", "{n}")
def through_symlink(ws, f, n, home):
    os.symlink(n, ws + "/link")
    write(ws + "/link")


@attack("file-outside", "write", "{ws}/linked")
def hard_link_from_before(ws, f, n, home):
    os.open(ws + "/linked", os.O_WRONLY)


@attack("file-outside", "unlink", "{ws}/linked2")
def hard_link_unlinked(ws, f, n, home):
    fd = os.open(ws + "/linked2", os.O_PATH)
    os.unlink(ws + "/linked2")
    os.open("/proc/self/fd/%d" % fd, os.O_WRONLY)


@attack("file-outside", "rename", "{ws}/linked3")
def hard_link_renamed_over(ws, f, n, home):
    write(ws + "/new")
    os.rename(ws + "/new", ws + "/linked3")


@attack("file-outside", "link", "{f}")
def link_in(ws, f, n, home):
    os.link(f, ws + "/in")


@attack("file-outside", "link", "{n}")
def link_out(ws, f, n, home):
    write(ws + "/out")
    os.link(ws + "/out", n)


@attack("file-outside", "rename", "{n}")
def rename_out(ws, f, n, home):
    write(ws + "/away")
    os.rename(ws + "/away", n)


@attack("file-outside", "rename", "{f}")
def rename_in(ws, f, n, home):
    os.rename(f, ws + "/mv")


@attack("file-outside", "exchange", "{f}")
def exchange_in(ws, f, n, home):
    write(ws + "/ex")
    exchange(ws + "/ex", f)


@attack("file-outside", "link", "{n}")
def tmpfile_linked_out(ws, f, n, home):
    fd = os.open(ws, os.O_TMPFILE | os.O_RDWR, 0o600)
    call(265, AT_FDCWD, "/proc/self/fd/%d" % fd, AT_FDCWD, n, 0x400)


@attack("file-outside", "tmpfile", "{out}")
def tmpfile_out(ws, f, n, home):
    os.open(os.path.dirname(n), os.O_TMPFILE | os.O_RDWR, 0o600)


@attack("file-outside", "mknod", "{n}")
def fifo_out(ws, f, n, home):
    os.mkfifo(n)


@attack("file-outside", "mknod", "{n}")
def socket_out(ws, f, n, home):
    socket.socket(socket.AF_UNIX).bind(n)


@attack("file-outside", "mkdir", None)
def deeper_than_a_walk(ws, f, n, home):
    os.mkdir(ws + "/deep")
    os.chdir(ws + "/deep")
    for _ in range(140):
        os.mkdir("d")
        os.chdir("d")


# Metadata, ioctls, devices. ----------------------------------------------------------------------

@attack("file-outside", "chmod", "{f}")
def chmod_read_only_fd(ws, f, n, home):
    os.fchmod(os.open(f, os.O_RDONLY), 0o777)


@attack("file-outside", "utimes", "{f}")
def utimes(ws, f, n, home):
    os.utime(f, (1, 1))


@attack("file-outside", "setxattr", "{f}")
def setxattr_read_only_fd(ws, f, n, home):
    os.setxattr(os.open(f, os.O_RDONLY), "user.x", b"1")


@attack("file-outside", "ioctl", "{f}")
def setflags_read_only_fd(ws, f, n, home):
    fcntl.ioctl(os.open(f, os.O_RDONLY), 0x40086602, struct.pack("l", 0x80))


@attack("file-outside", "ioctl", "{f}")
def setflags_mode_3(ws, f, n, home):
    fcntl.ioctl(os.open(f, 3), 0x40086602, struct.pack("l", 0x80))


@attack("file-outside", "ioctl", "{f}")
def file_setattr(ws, f, n, home):
    attr = struct.pack("QIIII", 0x80, 0, 0, 0, 0)
    call(469, AT_FDCWD, f, ctypes.create_string_buffer(attr), len(attr), 0)


@attack("file-outside", "write", "/dev/fuse")
def device_mode_3(ws, f, n, home):
    os.open("/dev/fuse", 3)


# Control files. ----------------------------------------------------------------------------------

@attack("file-control", "create", "{ws}/.git/hooks/pre-commit")
def git_hook(ws, f, n, home):
    write(ws + "/.git/hooks/pre-commit")


@attack("file-control", "rename", "{ws}/.git/hooks/pre-push")
def git_hook_renamed_in(ws, f, n, home):
    write(ws + "/hook")
    os.rename(ws + "/hook", ws + "/.git/hooks/pre-push")


@attack("file-control", "rename", "{ws}/.git/hooks")
def git_hooks_renamed(ws, f, n, home):
    os.rename(ws + "/.git/hooks", ws + "/.git/hooks2")


@attack("file-control", "rename", "{ws}/.git/modules/foo")
def git_module_moved_in(ws, f, n, home):
    os.makedirs(ws + "/module/hooks")
    os.rename(ws + "/module", ws + "/.git/modules/foo")


@attack("file-control", "mkdir", "{ws}/.git/modules/libs/zlib/hooks")
def git_module_with_slash(ws, f, n, home):
    os.makedirs(ws + "/.git/modules/libs/zlib/hooks")


@attack("file-control", "mkdir", "{ws}/.git/worktrees/w/modules/zlib/hooks")
def git_module_of_worktree(ws, f, n, home):
    os.makedirs(ws + "/.git/worktrees/w/modules/zlib/hooks")


@attack("file-control", "rename", "{ws}/.git/worktrees/x")
def git_worktree_moved_in(ws, f, n, home):
    os.makedirs(ws + "/worktree")
    write(ws + "/worktree/gitdir")
    os.rename(ws + "/worktree", ws + "/.git/worktrees/x")


@attack("file-control", "exchange", "{ws}/.git/info")
def git_info_exchanged(ws, f, n, home):
    os.makedirs(ws + "/info")
    exchange(ws + "/info", ws + "/.git/info")


@attack("file-control", "exchange", "{ws}/.git/objects/info")
def git_alternates_exchanged(ws, f, n, home):
    os.makedirs(ws + "/objinfo")
    exchange(ws + "/objinfo", ws + "/.git/objects/info")


@attack("file-control", "rename", "{ws}/.git/refs")
def git_refs_moved_away(ws, f, n, home):
    os.rename(ws + "/.git/refs", ws + "/oldrefs")


@attack("file-control", "symlink", "{ws}/.git/modules/bar")
def git_module_symlink(ws, f, n, home):
    os.symlink("../../module", ws + "/.git/modules/bar")


@attack("file-control", "mkdir", "{ws}/sub/.git")
def git_nested(ws, f, n, home):
    os.makedirs(ws + "/sub/.git")


@attack("file-control", "create", "{ws}/sub2/.git")
def git_file(ws, f, n, home):
    os.makedirs(ws + "/sub2")
    write(ws + "/sub2/.git", "gitdir: ../x\n")


@attack("file-control", "mkdir", "{ws}/a/.GitHub")
def control_in_other_case(ws, f, n, home):
    os.makedirs(ws + "/a/.GitHub")


# Credentials. ------------------------------------------------------------------------------------

@attack("credential-read", "read", "{home}/.ssh/id")
def credential(ws, f, n, home):
    os.open(home + "/.ssh/id", os.O_RDONLY)


@attack("credential-read", "read", "{home}/.ssh/id2")
def credential_by_directory(ws, f, n, home):
    os.open("id2", os.O_RDONLY, dir_fd=os.open(home + "/.ssh", os.O_RDONLY | os.O_DIRECTORY))


@attack("credential-read", "read", "{out}/cred")
def credential_by_hard_link(ws, f, n, home):
    os.open(os.path.dirname(n) + "/cred", os.O_RDONLY)


@attack("file-outside", "rename", "{home}/.ssh")
def credential_store_moved(ws, f, n, home):
    os.rename(home + "/.ssh", ws + "/ssh")


@attack("file-outside", "create", "{home}/.netrc")
def credential_store_made(ws, f, n, home):
    write(home + "/.netrc")


# Programs, processes, weir itself. ---------------------------------------------------------------

@attack("exec-memfd", "exec", None)
def memfd(ws, f, n, home):
    fd = os.memfd_create("x", 0)
    with open("/bin/true", "rb") as program:
        os.write(fd, program.read())
    execute(lambda: os.execve(fd, ["true"], {}))


@attack("exec-new-binary", "exec", "{tmp}/script")
def script(ws, f, n, home):
    path = os.environ["TMPDIR"] + "/script"
    write(path, "#!/bin/true\n")
    os.chmod(path, 0o755)
    execute(lambda: os.execve(path, ["s"], {}))


@attack("exec-new-binary", "exec", "{tmp}/o_path")
def execveat_o_path(ws, f, n, home):
    path = os.environ["TMPDIR"] + "/o_path"
    shutil.copy("/bin/true", path)
    execute(lambda: call(322, os.open(path, os.O_PATH), "", (ctypes.c_char_p * 2)(b"s", None),
                         (ctypes.c_char_p * 1)(None), 0x1000))


@attack("membership", "none", None)
def into_cgroup(ws, f, n, home):
    group = os.open("/sys/fs/cgroup", os.O_PATH)
    args = struct.pack("11Q", 0x200000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, group)
    if call(435, ctypes.create_string_buffer(args), len(args)) == 0:
        os._exit(0)


@attack("tamper", "create", "{run}/canary/yes/planted")
def into_canary(ws, f, n, home):
    run = os.path.basename(os.environ["TMPDIR"])
    write("/var/lib/weir/runs/%s/canary/yes/planted" % run)


@attack("tamper", "read", "/run/weir.lock")
def lock(ws, f, n, home):
    fcntl.flock(os.open("/run/weir.lock", os.O_RDONLY), fcntl.LOCK_EX)


# io_uring, without and with a worker of the kernel. ----------------------------------------------

class Ring:
    def __init__(self, flags):
        params = ctypes.create_string_buffer(struct.pack("III", 0, 0, flags), 120)
        self.fd = call(425, 8, params)
        entries = struct.unpack_from("II", params, 0)
        sq, cq = struct.unpack_from("8I", params, 40), struct.unpack_from("8I", params, 80)
        libc.mmap.restype = ctypes.c_void_p
        self.sq = self.map(sq[6] + entries[0] * 4, 0)
        self.cq = self.map(cq[5] + entries[1] * 16, 0x8000000)
        self.sqes = self.map(entries[0] * 64, 0x10000000)
        self.tail, self.array, self.cqes = self.sq + sq[1], self.sq + sq[6], self.cq + cq[5]

    def map(self, size, offset):
        return libc.mmap(None, ctypes.c_size_t(size), 3, 1, self.fd, ctypes.c_long(offset))

    def submit(self, opcode, flags, addr, length, op_flags, addr2=0, personality=0):
        sqe = struct.pack("BBHiQQIIQHHiQQ", opcode, flags, 0, AT_FDCWD, addr2, addr, length,
                          op_flags, 0, 0, personality, 0, 0, 0)
        ctypes.memmove(self.sqes, sqe, 64)
        ctypes.c_uint.from_address(self.array).value = 0
        ctypes.c_uint.from_address(self.tail).value += 1
        call(426, self.fd, 1, 1, 1, 0, 0)
        result = ctypes.c_int.from_address(self.cqes + 8).value
        if result < 0:
            raise OSError(-result, "io_uring")
        return result


def address(text):
    buffer = ctypes.create_string_buffer(os.fsencode(text))
    return buffer, ctypes.addressof(buffer)


@attack("file-outside", "write", "{f}")
def uring_open(ws, f, n, home):
    path = address(f)
    Ring(0).submit(18, 0, path[1], 0, os.O_WRONLY)


@attack("file-outside", "create", "{n}")
def uring_create_by_worker(ws, f, n, home):
    path = address(n)
    Ring(0).submit(18, 16, path[1], 0o644, os.O_WRONLY | os.O_CREAT)


@attack("file-outside", "unlink", "{f}")
def uring_unlink_by_worker(ws, f, n, home):
    path = address(f)
    Ring(0).submit(36, 16, path[1], 0, 0)


@attack("file-outside", "rename", "{f}")
def uring_rename(ws, f, n, home):
    old, new = address(f), address(ws + "/uring")
    Ring(0).submit(35, 0, old[1], AT_FDCWD & 0xffffffff, 0, new[1])


def personality(ws, f, n, home):
    """Not in the table: needs CAP_SYS_ADMIN. Lends itself power that it has given up."""
    path, ring = address(n), Ring(0)
    number = call(427, ring.fd, 9, 0, 0)
    call(126, ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0)),
         ctypes.create_string_buffer(24))
    ring.submit(18, 0, path[1], 0o644, os.O_WRONLY | os.O_CREAT, 0, number)


def received(ws, f, n, home):
    """Not in the table: descriptors from a process outside (see serve)."""
    s = socket.socket(socket.AF_UNIX)
    s.connect(n)
    for what in ("write", "read", "create", "reopen"):
        _, fds, _, _ = socket.recv_fds(s, 1, 1)
        s.send(b"x")
        try:
            if what == "create":
                os.open("received", os.O_CREAT | os.O_WRONLY, dir_fd=fds[0])
            elif what == "reopen":
                os.open("/proc/self/fd/%d" % fds[0], os.O_WRONLY)
            elif fds:
                print(what, "a descriptor came")
        except OSError as e:
            print(what, errno.errorcode[e.errno])
        if not fds:
            print(what, "none came")


def serve(path, out, home):
    """Hands descriptors to whoever connects to the socket at path."""
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.listen()
    c, _ = s.accept()
    for fd in (os.open(out + "/served", os.O_RDWR), os.open(home + "/.ssh/id", os.O_RDONLY),
               os.open(out, os.O_RDONLY), os.open(out + "/served", os.O_PATH)):
        socket.send_fds(c, [b"x"], [fd])
        c.recv(1)


# -------------------------------------------------------------------------------------------------

def prepare(ws, out, home):
    for name in ATTACKS:
        write("%s/%s" % (out, name), "precious\n")
    for i in ("", "2", "3"):
        write(out + "/linked" + i, "precious\n")
        os.link(out + "/linked" + i, ws + "/linked" + i)
    os.makedirs(home + "/.ssh")
    write(home + "/.ssh/id", "secret\n")
    write(home + "/.ssh/id2", "secret\n")
    write(home + "/.ssh/id3", "secret\n")
    os.link(home + "/.ssh/id3", out + "/cred")
    for name in ("hooks", "info", "modules", "objects/info", "refs/heads", "worktrees"):
        os.makedirs(ws + "/.git/" + name)


def do(ws, out, home, *names):
    with open(ws + "/said", "w", encoding="ascii") as said:
        for name in names or ATTACKS:
            function = ATTACKS[name][0] if name in ATTACKS else globals()[name]
            os.chdir(ws)
            try:
                function(ws, "%s/%s" % (out, name), "%s/%s.new" % (out, name), home)
                said.write("%s done\n" % name)
            except OSError as e:
                said.write("%s %s\n" % (name, errno.errorcode.get(e.errno, e.errno)))
            said.flush()


def verdict(name, said, findings, places, mode):
    _, kind, op, path = ATTACKS[name]
    if said in ("ENOSYS", "ENOENT", "ENODEV", "EINVAL") and name in (
            "file_setattr", "device_mode_3", "create_with_o_directory", "into_cgroup"):
        return None
    places = dict(places, f="%s/%s" % (places["out"], name), n="%s/%s.new" % (places["out"], name))
    path = path and path.format(**places)
    outcome = "passed" if mode == "observe" and kind != "tamper" else "denied"
    if not any(x["kind"] == kind and x["op"] == op and x["outcome"] == outcome and
               (path is None or x["object"]["path"] == path) for x in findings):
        return "no finding %s %s %s" % (kind, op, path or "")
    # another device, as home may be, is what the kernel sees first
    wanted = ("done", "EXDEV") if outcome == "passed" else ("EPERM", "EACCES", "EXDEV")
    return None if said in wanted else "came of it: " + said


def judge(run, ws, out, home, mode):
    with open(run + "/run.json", encoding="utf-8") as file:
        findings = json.load(file)["findings"]
    with open(ws + "/said", encoding="ascii") as file:
        said = dict(line.split() for line in file)
    run = run.rstrip("/")
    places = {"ws": ws, "out": out, "home": home, "run": run,
              "tmp": run.replace("/runs/", "/tmp/")}
    for name in ATTACKS:
        why = verdict(name, said.get(name, "not tried"), findings, places, mode)
        print("not ok %s: %s" % (name, why) if why else "ok " + name)


if __name__ == "__main__":
    {"do": do, "prepare": prepare, "judge": judge, "serve": serve}[sys.argv[1]](*sys.argv[2:])
