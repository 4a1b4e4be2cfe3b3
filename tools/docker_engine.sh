#!/usr/bin/env bash
# Start a Docker engine and make a base image on a bare Debian machine: for CI, and for machines without an image registry.
# Needs root. It can be run again: an existing engine or image is not changed.
#
#   tools/docker_engine.sh [IMAGE]        default: autocoder-base:bookworm, the name that the sandbox looks for
#
# If an engine already answers (DOCKER_HOST, a context, the usual socket), only the image is made.
set -euo pipefail

image=${1:-autocoder-base:bookworm}
suite=bookworm
log=${TMPDIR:-/tmp}/dockerd.log

# `docker info` exits with 0 even if only the client works; the server's version is printed only if the engine answers.
answers() { docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

need() { # need COMMAND PACKAGE...
  command -v "$1" >/dev/null && return
  shift
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

need docker docker.io iptables ca-certificates

if ! answers; then
  need dockerd docker.io iptables
  # In a new session, so that the engine continues to run after the CI step that started it.
  setsid dockerd --storage-driver=overlay2 >"$log" 2>&1 </dev/null &
  for _ in $(seq 120); do
    answers && break
    sleep 0.5
  done
  answers || { tail -n 20 "$log" >&2; exit 1; }
fi
docker version --format 'engine {{.Server.Version}}'

if ! docker image inspect "$image" >/dev/null 2>&1; then
  # Importing a new Debian tree needs no registry. Its interpreter is Debian's python3.
  need debootstrap debootstrap
  root=$(mktemp -d)
  trap 'rm -rf "$root"' EXIT
  debootstrap --variant=minbase --include=python3,ca-certificates "$suite" "$root" >/dev/null
  # apt's downloads and lists are not needed in the containers.
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
  tar -C "$root" -c . | docker import --change 'CMD ["python3"]' - "$image" >/dev/null
fi
docker run --rm --network none "$image" python3 -c 'import platform; print("image with Python", platform.python_version())'
