#!/usr/bin/env bash
# Makes the base images of deploy/Dockerfile from Debian's packages and npm's, for a machine that
# cannot pull them: test/build/container-base.sh NODE_FOLDER VERSION WORK
#
# NODE_FOLDER holds `bin/node` of that version. WORK keeps what is downloaded. Needs root,
# debootstrap, npm and a running engine.
set -euo pipefail
node_folder="$1" version="$2" work="$3"
root="$work/rootfs"

if [ ! -f "$work/rootfs.tar" ]; then
  rm -rf "$root" && mkdir -p "$work"
  debootstrap --variant=minbase bookworm "$root" >"$work/debootstrap.log"
  install -D "$node_folder/bin/node" "$root/usr/local/bin/node"
  (cd "$work" && npm pack --silent npm@11 >/dev/null)
  mkdir -p "$root/usr/local/lib/node_modules/npm"
  tar -xzf "$work"/npm-11.*.tgz -C "$root/usr/local/lib/node_modules/npm" --strip-components 1
  for name in npm npx; do
    ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$root/usr/local/bin/$name"
  done
  # The authorities and the registry of this machine.
  install -D /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
  mkdir -p "$root/usr/local/etc"
  printf 'registry=%s\ncafile=%s\n' "$(npm config get registry)" \
    /etc/ssl/certs/ca-certificates.crt >"$root/usr/local/etc/npmrc"
  tar -C "$root" -cf "$work/rootfs.tar.part" .
  mv "$work/rootfs.tar.part" "$work/rootfs.tar"
  rm -rf "$root"
fi
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
for variant in bookworm bookworm-slim; do
  docker import --change "ENV PATH=$path" "$work/rootfs.tar" "node:$version-$variant" >/dev/null
done
