"""ghostd's socket as somebody without our libraries could speak it (engine/src/wire.rs). It asserts nothing."""

import array
import multiprocessing
import os
import socket
import struct
import sys
import traceback

HEAD = struct.Struct("=IIiI6Q")
HELLO, PAGE_MAPPED, MEMORY_TAKE, MEMORY_GIVE, MEMORY_INFO, CONTEXT_OPEN, CONTEXT_CLOSE, MISSING, APPLY, STATUS = range(
    1, 11
)
OK, UNKNOWN, MALFORMED, OUT_OF_MEMORY, DENIED, REFUSED, TOO_MANY, OTHER_LAYOUT = range(8)
READER, HOLDER, OPERATOR = range(3)
NOBODY = 65534


class Reply:
    def __init__(self, packet, fds):
        self.id, self.seq, self.status, _, *self.args = HEAD.unpack(packet[: HEAD.size])
        self.data, self.fds = packet[HEAD.size :], fds


class Client:
    """One connection; `hello` learns the layout hash from the refusal of a wrong one."""

    def __init__(self, path, timeout=60):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(timeout)
        self.socket.connect(str(path))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, message, args=(), data=b"", seq=1):
        words = [*args, *[0] * (6 - len(args))]
        self.socket.send(HEAD.pack(message, seq, 0, len(data), *words) + data)

    def receive(self):
        room = socket.CMSG_SPACE(4 * 4)
        packet, control, _, _ = self.socket.recvmsg(64 << 10, room)
        fds = array.array("i")
        for level, kind, data in control:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds.frombytes(data[: len(data) - len(data) % 4])
        if not packet:
            raise ConnectionError("ghostd closed the connection")
        return Reply(packet, list(fds))

    def ask(self, message, args=(), data=b""):
        self.send(message, args, data)
        return self.receive()

    def hello(self, role):
        layout = 0
        for _ in range(2):
            reply = self.ask(HELLO, (layout, 0, role), b"/dev")
            if reply.status != OTHER_LAYOUT:
                break
            layout = reply.args[0]
        return reply


def _answer(pipe, uid, work, arguments):
    try:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        pipe.send((True, work(*arguments)))
    except BaseException:  # noqa: BLE001 - whatever it was, the test shall show it
        pipe.send((False, traceback.format_exc()))


def as_user(work, *arguments, uid=NOBODY):
    """What `work` gives in a forked process of another user."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    process = fork.Process(target=_answer, args=(theirs, uid, work, arguments))
    sys.stdout.flush()
    process.start()
    theirs.close()
    good, answer = ours.recv()
    process.join()
    if not good:
        raise AssertionError(answer)
    return answer
