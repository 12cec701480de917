#!/bin/sh
# The programs of the image: `api` (the default), `worker`, `migrate`, `schedules`, `config`, `operator`,
# `billing`, and for trials `demo-ledger` and `demo-data`. Node takes the place of the shell, so
# that it gets the signals.
set -eu

name="${1:-api}"
[ $# -eq 0 ] || shift
case "$name" in
  api) program=server ;;
  worker | migrate | schedules | config | operator | billing | demo-ledger | demo-data) program="$name" ;;
  *)
    echo "There is no program $name: see deploy/entrypoint.sh" >&2
    exit 64
    ;;
esac
# By default malloc keeps an arena for nearly each of the worker's native threads, with its free memory.
export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX:-2}"
exec node "$(dirname "$0")/dist/$program.js" "$@"
