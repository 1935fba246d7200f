"""The line between client and server of a goal, which the kernel cuts when a process dies."""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress

# A Linux name, which leaves no file behind, in the network namespace of the process: who is on
# another machine, or of another user, or knows of no lines, has none. Only a heartbeat is heard
# then. Any local user can read such names and connect. That gives them nothing:
# - A line proves no life. Its end alone is news; heartbeats are asked for beside it.
# - The client has the name before anybody else knows the goal, and closes it once the server is
#   there. Who takes it after the client's death finds no server that still connects, or one
#   that looks who listens.
# - Both ends look whose process the other one is, as the kernel tells; one of another user is
#   hung up on. Who floods the queue keeps the server out of it: a heartbeat is left.
# - Nothing is read but one byte, which says that the goal has ended: no death.
NAME = '\0pkm_goal_{}'
QUEUE = 4  # connections that wait for the client, and that it takes at once
ENDED = b'.'


class ProcessLine:
    """One end of the line of a goal; it does nothing where there can be none.

    The client `offers` it before it sends the goal, and the server takes it when it has the goal.
    """

    def __init__(self, goal: bytes, offers: bool) -> None:
        self._cut = False
        self._offer: socket.socket | None = None
        self._end: socket.socket | None = None
        if not hasattr(socket, 'SO_PEERCRED'):
            return
        name, end = NAME.format(goal.hex()), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        end.setblocking(False)
        try:
            if offers:
                end.bind(name)
                end.listen(QUEUE)
                self._offer = end
            else:
                end.connect(name)
                self._take(end)
        except OSError:
            end.close()

    def is_cut(self) -> bool:
        """Whether the process at the other end is gone; to be asked again and again."""
        for _ in range(QUEUE):
            if self._offer is None:
                break
            with suppress(OSError):
                self._take(self._offer.accept()[0])
        if self._end is not None:
            try:
                self._cut = self._end.recv(1) != ENDED
            except BlockingIOError:
                return False
            except OSError:
                self._cut = True
            self.close()
        return self._cut

    def end(self) -> None:
        """Say that the goal has ended, whatever becomes of this process."""
        if self._end is not None:
            with suppress(OSError):
                self._end.send(ENDED)
        self.close()

    def close(self) -> None:
        """Hang up."""
        for each in (self._offer, self._end):
            if each is not None:
                each.close()
        self._offer = self._end = None

    def _take(self, end: socket.socket) -> None:
        """Keep a connection to a process of this user, and no further one."""
        end.setblocking(False)
        told = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize('3i'))
        if struct.unpack('3i', told)[1] != os.geteuid():  # process, user, group
            end.close()
            return
        if self._offer is not None:
            self._offer.close()
            self._offer = None
        self._end = end
