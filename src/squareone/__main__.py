"""``squareone`` and ``python -m squareone``: the command line."""

import signal


def main() -> None:
    """The command line, which is quiet if it is interrupted while it is still being loaded."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli.commands import main as command

    command()


if __name__ == "__main__":
    main()
