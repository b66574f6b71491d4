"""Makes the Python environment of the tests, once, and prints the path of its interpreter.

    python3 tests/support/environment.py FOLDER

FOLDER is usually target/python. Safe when several do it at once. Needs Python 3.10 or newer
with the standard library, and PyPI when there is no environment yet.
"""

import fcntl
import hashlib
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
PIP = "26.0"
OLDEST = (3, 10)


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    if sys.version_info < OLDEST:
        say(f"{sys.executable} is Python {sys.version.split()[0]}, and the tests need 3.10 or newer:")
        say("put one on PATH as python3, or name it with DAPTREE_TEST_PYTHON")
        return 1
    top = Path(sys.argv[1]).absolute()
    top.mkdir(parents=True, exist_ok=True)
    what = REQUIREMENTS.read_bytes() + sys.version.encode() + sys.base_prefix.encode()
    folder = top / hashlib.sha256(what).hexdigest()[:12]
    with open(top / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "ready").exists():
            make(folder)
    print(folder / "bin" / "python")
    return 0


def make(folder: Path) -> None:
    say(f"making the Python environment of the tests in {folder} …")
    shutil.rmtree(folder, ignore_errors=True)
    python = str(folder / "bin" / "python")
    words = ["install", "--quiet", "--disable-pip-version-check", "--requirement", str(REQUIREMENTS)]
    # A distribution may have taken ensurepip or pip from its Python; venv alone is always there.
    run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    if works([sys.executable, "-m", "pip", "--python", python, "--version"]):
        run([sys.executable, "-m", "pip", "--python", python, *words])
    elif works([python, "-m", "ensurepip"]):
        run([python, "-m", "pip", *words])
    else:
        with tempfile.TemporaryDirectory() as scratch:
            run([python, os.path.join(fetch_pip(scratch), "pip"), *words])
    (folder / "ready").touch()


def fetch_pip(folder: str) -> str:
    """pip's wheel runs as it is; the index says what its bytes must be."""
    index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + "/pip/"
    with urllib.request.urlopen(index, timeout=60) as answer:
        page = html.unescape(answer.read().decode())
    name = f"pip-{PIP}-py3-none-any.whl"
    found = re.search(rf'href="([^"]*/{re.escape(name)})#sha256=([0-9a-f]+)', page)
    if not found:
        raise SystemExit(f"{index} has no {name}: install pip for {sys.executable} and try again")
    url = urllib.parse.urljoin(index, found[1])
    with urllib.request.urlopen(url, timeout=60) as answer:
        content = answer.read()
    if hashlib.sha256(content).hexdigest() != found[2]:
        raise SystemExit(f"{url}: not the bytes that {index} names; try again")
    path = os.path.join(folder, name)
    Path(path).write_bytes(content)
    return path


def works(command: list[str]) -> bool:
    quiet = subprocess.DEVNULL
    return subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet).returncode == 0


def run(command: list[str]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    if done.returncode != 0:
        raise SystemExit(f"failed with status {done.returncode}: {' '.join(command)}")


def say(text: str) -> None:
    print(f"environment.py: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
