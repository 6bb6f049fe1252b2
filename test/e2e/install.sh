#!/bin/sh
# Installs what a real node and its images need: a container runtime, the network's plugins, and what makes a root
# filesystem from Debian packages.
set -eu
missing=
for package in containerd runc containernetworking-plugins iproute2 mmdebstrap busybox-static; do
	dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
apt-get update -qq
# shellcheck disable=SC2086 # a list of words
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing
