"""The private socket the shims talk to: every call of a tool in a step arrives here.

Only the door is made at once. Who stands behind it is loaded when somebody knocks: that takes ten
milliseconds, for which the first step would wait, and most steps of some packs call nothing.
"""

import os
import select
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from oraclepack.adapters.expected import Attempts
from oraclepack.adapters.shim_dir import ShimDir
from oraclepack.shell.attempt import Attempt, Grace
from oraclepack.shell.stop import Stop

if TYPE_CHECKING:
    from oraclepack.adapters.reception import Answer, Reception


class Gateway:
    """Receives calls while it is open, and answers each in a thread of its own."""

    def __init__(  # noqa: PLR0913 - all but four by name
        self,
        answer: "Answer",
        stop: Stop,
        folder: Path,
        env: Mapping[str, str],
        *,
        spools: Path | None = None,
        programs: Mapping[str, str] | None = None,
        grace: Grace | None = None,
        every_tool: bool = False,
    ) -> None:
        """Lay out the shim directory. Raises WorldError.

        `folder` is a directory of ours alone, `env` oraclepack's own environment, `spools` a
        directory on disk for what tools say while they run (`folder`, if none is given),
        `programs` are tools the user named by a path. With `every_tool`, no tool we know starts
        and no package is run that we do not know. Calls are taken once it is entered.
        """
        self.shims = ShimDir.make(
            folder, env.get("PATH", os.defpath), env.get("BASH_ENV"), every_tool=every_tool
        )
        self._every_tool = every_tool
        self._answer = answer
        self._stop = stop
        self._spools = spools or folder
        self._env = env
        self._programs = programs or {}
        self._grace = grace or Grace()
        self._attempts = Attempts(stop)
        self.faults: list[BaseException] = []
        """What went wrong inside of us while a call was answered."""
        self._door = socket.socket(socket.AF_UNIX)
        self._wake = os.pipe()
        self._thread = threading.Thread(target=self._open, name="gateway", daemon=True)
        self._reception: Reception | None = None

    def __enter__(self) -> Self:
        self._door.bind(str(self.shims.socket))
        self._door.listen(128)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take no more calls, wait for questions whose callers died, end other calls, tidy up."""
        os.write(self._wake[1], b"!")
        self._thread.join()
        self._door.close()
        if self._reception is not None:
            self._reception.close()
        for descriptor in self._wake:
            os.close(descriptor)
        self.shims.remove()

    def expect(self, attempt: Attempt) -> None:
        """From now on calls with this attempt's token are its own. To be said before it starts."""
        self._attempts.expect(attempt)

    def await_answers(self, attempt: Attempt, seconds: float) -> bool:
        """Wait a while for the questions an attempt has asked, since they may be paid for.

        False while one is not answered; for ever, if it was under way when the run was stopped.
        """
        return self._attempts.await_answers(attempt, seconds)

    def forget(self, attempt: Attempt) -> None:
        """The attempt is over: what still calls in its name is refused."""
        self._attempts.forget(attempt)

    def _open(self) -> None:
        poll = select.poll()
        poll.register(self._door.fileno(), select.POLLIN)
        poll.register(self._wake[0], select.POLLIN)
        while self._wake[0] not in {ready for ready, _ in poll.poll()}:
            try:
                self._reception = self._reception or self._made()
            except Exception as fault:  # noqa: BLE001 - out of descriptors, say
                self.faults.append(fault)
                self._door.close()  # or the step would wait for an answer that cannot come
                return
            self._reception.admit()

    def _made(self) -> "Reception":
        from oraclepack.adapters.real_tool import Toolbox  # noqa: PLC0415 - the point of it
        from oraclepack.adapters.reception import Reception  # noqa: PLC0415
        from oraclepack.adapters.shim_call import World  # noqa: PLC0415

        tools = Toolbox(self.shims.path, dict(self._env), self._programs)
        world = World(tools, self._stop, self._grace, self._spools)
        door = self._door.fileno()
        made = Reception(
            door,
            self._answer,
            self._attempts,
            world,
            self.faults,
            no_other_packages=self._every_tool,
        )
        self._door.detach()  # last: until there is somebody at the door, it is ours to close
        return made
