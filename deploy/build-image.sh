#!/usr/bin/env bash
# The build steps of the image, run in a copy of the repository:
#
#   deploy/build-image.sh install     installs what the build needs
#   deploy/build-image.sh lay FOLDER  builds, and lays what the image holds into FOLDER
#
# Nothing else in the Dockerfile builds, so that the steps can be run without it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

install_all() {
  npm ci --no-audit --no-fund
}

lay() {
  local folder="$1"
  npm run --silent build
  mkdir -p "$folder"
  cp -R dist package.json package-lock.json deploy/entrypoint.sh "$folder/"
  chmod 0755 "$folder/entrypoint.sh"
  # The lock names it. It holds no code, and nothing of it is installed here.
  mkdir -p "$folder/tools" && cp -R tools/pinned-node "$folder/tools/"
  (cd "$folder" && npm ci --omit=dev --ignore-scripts --prefer-offline --no-audit --no-fund)
  rm -rf "$folder/tools" "$folder/package-lock.json"
  prune "$folder/node_modules/@temporalio/core-bridge"
}

# The package has the native code of five platforms, and its sources.
prune() {
  local bridge="$1" platform
  platform="$(node -p 'require(process.argv[1]).getPrebuiltTargetName()' \
    "$(realpath "$bridge")/common.js")"
  [ -d "$bridge/releases/$platform" ] || { echo "no native code for $platform" >&2; exit 1; }
  find "$bridge/releases" -mindepth 1 -maxdepth 1 ! -name "$platform" -exec rm -rf {} +
  rm -rf "$bridge"/{sdk-core,src,ts,scripts,bridge-macros,Cargo.toml,Cargo.lock}
}

case "${1:-}" in
  install) install_all ;;
  lay) lay "${2:?names the folder}" ;;
  *) sed -n '2,7p' "$0" >&2; exit 64 ;;
esac
