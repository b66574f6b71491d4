"""Puts debugpy into a process, as `python DEBUGPY_PARENT_DIR/debugpy --pid` does it, but for the
script that then runs in there: it is the one beside this file.

    python inject.py DEBUGPY_PARENT_DIR [debugpy options] --pid PID
"""
import os
import sys


def main():
    parent = sys.argv.pop(1)
    sys.path.insert(0, parent)
    import debugpy.server

    del sys.path[0]
    # debugpy takes the script from beside this file of its own.
    debugpy.server.__file__ = os.path.abspath(__file__)
    from debugpy.server import cli

    cli.main()


main()
