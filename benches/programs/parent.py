"""Starts programs one after the other: parent.py CHILD COUNT."""
import subprocess
import sys

for _ in range(int(sys.argv[2])):
    subprocess.run([sys.executable, sys.argv[1]], check=True)
