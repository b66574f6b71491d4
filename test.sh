#!/bin/sh
# Runs all tests. Needs Rust, Python 3.10 or newer, and PyPI and crates.io the first time.
set -eu
cd "$(dirname "$0")"
python3=${DAPTREE_TEST_PYTHON:-python3}
"$python3" tests/support/environment.py "${CARGO_TARGET_DIR:-target}/python"
exec cargo test --workspace --locked "$@"
