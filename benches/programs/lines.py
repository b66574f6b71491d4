"""Workers that run Python lines until they are ended: some work, and a short pause as a server has."""

import multiprocessing
import sys
import time


def serve():
    turn = 0
    while True:
        for number in range(50):
            turn += number
        time.sleep(0.01)


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    for _ in range(int(sys.argv[1]) - 1):
        context.Process(target=serve, daemon=True).start()
    serve()
