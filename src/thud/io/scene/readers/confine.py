"""What the process that reads a file may do: use so much memory and time, read the file's folder, write its own folder.

Four layers, each as far as the system has it:

- limits of the system (POSIX) on address space, processor time, file size and core dumps;
- Landlock (Linux 5.13): reads only below the file's folder and where Python is installed, writes only below the temporary
  folder, no TCP (6.7), no signals to other processes (6.12); it binds C and C++ code too;
- seccomp (Linux on x86-64 and arm64): no sockets, no other programs; it binds C and C++ code too;
- an audit hook (everywhere): Python code opens no socket, starts no program, writes nothing elsewhere.

Not arranged: on macOS address space is not limited by the system; on Windows only time and the hook are. A parser that is
taken over by a file on such a system can do what the user can.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Sequence
from typing import Any

_READ = 1 << 2 | 1 << 3  # files, directories
_FILE_READ = 1 << 2
_TRUNCATE = 1 << 14

#: Architecture, and numbers of the system calls that are refused: socket, socketpair, execve, execveat, ptrace,
#: io_uring_setup, bpf, process_vm_writev.
_REFUSED = {
    "x86_64": (0xC000003E, (41, 53, 59, 322, 101, 425, 321, 311)),
    "aarch64": (0xC00000B7, (198, 199, 221, 281, 117, 425, 280, 271)),
}

_NETWORK = ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "urllib.Request")
_PROGRAMS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "os.fork", "pty.spawn")
_CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.chown", "os.truncate")


def confine(writable: str, readable: Sequence[str], memory_bytes: int, seconds: float, output_bytes: int) -> list[str]:
    """Bind this process for good. Returns the names of the layers that are in force."""
    layers = ["audit"]
    if _set_limits(memory_bytes, seconds, output_bytes):
        layers.append("rlimit")
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(38, 1, 0, 0, 0)  # no new privileges
        if _landlock(libc, writable, readable):
            layers.append("landlock")
        if _seccomp(libc):
            layers.append("seccomp")
    _audit(writable)
    return layers


def _set_limits(memory_bytes: int, seconds: float, output_bytes: int) -> bool:
    try:
        import resource
    except ImportError:
        return False
    cpu = int(seconds) + 2
    wanted = (
        (resource.RLIMIT_AS, int(memory_bytes)),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_FSIZE, int(output_bytes)),
        (resource.RLIMIT_CORE, 0),
    )
    for which, value in wanted:
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(which, (value, value))
        except (OSError, ValueError):
            return False
    return True


def _landlock(libc: Any, writable: str, readable: Sequence[str]) -> bool:
    abi = libc.syscall(444, None, 0, 1)
    if abi < 1:
        return False
    handled = (1 << 13) - 1 | (1 << 13 if abi >= 2 else 0) | (_TRUNCATE if abi >= 3 else 0)
    # Bind and connect of TCP; abstract sockets and signals to other processes.
    attributes = struct.pack("=QQQ", handled, 3, 3)[: 24 if abi >= 6 else 16 if abi >= 4 else 8]
    rules = libc.syscall(444, attributes, len(attributes), 0)
    if rules < 0:
        return False
    # Below the own folder all but devices, sockets and programs.
    everything = handled & ~(1 | 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 12)
    _allow(libc, rules, writable, everything)
    for path in readable:
        _allow(libc, rules, path, _READ if os.path.isdir(path) else _FILE_READ)
    _allow(libc, rules, "/dev/null", _FILE_READ | 1 << 1)
    done = libc.syscall(446, rules, 0) == 0
    os.close(rules)
    return done


def _allow(libc: Any, rules: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    libc.syscall(445, rules, 1, struct.pack("=Qi", rights, fd), 0)
    os.close(fd)


def _seccomp(libc: Any) -> bool:
    known = _REFUSED.get(platform.machine())
    if known is None:
        return False
    architecture, calls = known
    # Lines 0 to 3: another architecture, or a number of the x32 kind, is refused. Then a comparison for each number, and
    # the two ends. A jump counts the lines that it passes over.
    allow, refuse, count = 0x7FFF0000, 0x00050000 | 1, len(calls)
    program = [
        (0x20, 0, 0, 4),
        (0x15, 0, count + 3, architecture),
        (0x20, 0, 0, 0),
        (0x35, count + 1, 0, 0x40000000),
        *((0x15, count - k, 0, number) for k, number in enumerate(calls)),
        (0x06, 0, 0, allow),
        (0x06, 0, 0, refuse),
    ]
    code = b"".join(struct.pack("=HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(code, len(code))

    class Filter(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    wanted = Filter(len(program), ctypes.cast(buffer, ctypes.c_void_p))
    return libc.prctl(22, 2, ctypes.byref(wanted), 0, 0) == 0


def _audit(writable: str) -> None:
    root = os.path.realpath(writable) + os.sep

    def inside(path: Any) -> bool:
        if isinstance(path, int):
            return True
        return (os.path.realpath(os.fsdecode(path)) + os.sep).startswith(root)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
            if writes and path is not None and path != os.devnull and not inside(path):
                raise PermissionError(f"a reader wanted to write {path!r}")
        elif event in _NETWORK:
            raise PermissionError(f"a reader wanted the network ({event})")
        elif event in _PROGRAMS:
            raise PermissionError(f"a reader wanted to start a program ({event})")
        elif event in _CHANGES and not all(inside(a) for a in arguments[:2] if isinstance(a, (str, bytes, os.PathLike))):
            raise PermissionError(f"a reader wanted to change {arguments[0]!r} ({event})")

    sys.addaudithook(hook)
