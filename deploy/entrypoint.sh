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
# What a request creates lives for milliseconds. The first option bounds each half of the space of
# new objects, in megabytes. The second keeps V8 from creating such objects as old ones after a
# burst. The third lets the old objects grow by half of what lives before a full collection.
exec node --max-semi-space-size=16 --no-allocation-site-pretenuring --heap-growing-percent=50 \
  "$(dirname "$0")/dist/$program.js" "$@"
