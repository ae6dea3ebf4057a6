"""The command line: ``ncde train ...``, or ``python -m ncde train ...``."""

import signal
import sys

from ncde import _ncde


def main() -> None:
    # Signals are handled by the command line, which saves what it has.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_ncde.run(sys.argv[1:], [sys.executable, "-m", "ncde"]))


if __name__ == "__main__":
    main()
