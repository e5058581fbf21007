#!/usr/bin/env bash
# The test command: installs what the tests need where it is missing, runs everything, and ends
# with the count. The tests start every server that they need themselves, on free ports of the
# loopback interface or on sockets in temporary folders, and stop them.
set -euo pipefail
cd "$(dirname "$0")/.."

# The planner's table is drawn from a seed. The gate uses one and the same, so that a red gate is
# about the change; `PLANNER_SEED= bash tests/run.sh` or `cargo test` draw anew and print theirs.
export PLANNER_SEED="${PLANNER_SEED-20261130}"
[ -n "$PLANNER_SEED" ] || unset PLANNER_SEED

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"

need() { # need PROGRAM PACKAGE: the program, or the package that has it
  command -v "$1" >/dev/null 2>&1 && return
  if [ "$(id -u)" -ne 0 ]; then
    echo "tests/run.sh: '$1' is missing; install the package '$2' or run this as root once" >&2
    exit 2
  fi
  [ -n "${updated:-}" ] || { apt-get update -qq && updated=1; }
  # Only the program: no service may start with the package.
  DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "$2" >/dev/null
}
need_postgres() { # the server and initdb, which Debian keeps out of the path
  ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && return
  command -v initdb >/dev/null 2>&1 && return
  # No cluster is made with the package, so nothing of it starts.
  if [ "$(id -u)" -eq 0 ] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    mkdir -p /etc/postgresql-common
    echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
  fi
  need initdb postgresql
}
need etcd etcd-server
need_postgres
need strace strace
need openssl openssl
need python3 python3
need setsid util-linux
need script bsdutils
need ps procps

cargo build --workspace --locked

# `--soak [FAULT]`: not the tests, but each fault of the table as often as it says; a FAULT alone, and
# SOAK_ROUNDS for another number.
if [ "${1:-}" = --soak ]; then
  SOAK="${2:-all}" exec cargo test --locked -p callboard-tests --test it soak:: -- --nocapture --test-threads=1
fi

output="$(mktemp)"
trap 'rm -f "$output"' EXIT
status=0
cargo test --workspace --locked --no-fail-fast -- --test-threads="${TEST_THREADS:-2}" 2>&1 | tee "$output" || status=$?

awk '/^test result:/ { passed += $4; failed += $6; skipped += $8 }
     END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }' "$output"
exit "$status"
