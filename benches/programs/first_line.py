"""Says when its first line ran: first_line.py FILE."""
import time; now = time.time_ns()  # noqa: E702
import sys

with open(sys.argv[1], "w") as file:
    file.write(str(now))
