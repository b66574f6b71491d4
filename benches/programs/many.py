"""Starts children at once and waits for them: many.py CHILD COUNT."""
import subprocess
import sys

children = [subprocess.Popen([sys.executable, sys.argv[1]]) for _ in range(int(sys.argv[2]))]
for child in children:
    child.wait()
