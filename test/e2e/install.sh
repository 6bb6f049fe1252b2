#!/bin/sh
# Installs what a real node and its images need: a container runtime, the network's plugins, and what makes a root
# filesystem from Debian packages; the Prometheus that tests scrape the operator with; the PostgreSQL that keeps the
# server's history; and what runs the OpenID provider that vouches for its callers.
set -eu
if [ "$(uname)" != Linux ] || [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
	echo "The tests with real containers need Debian and root: they start containerd and a kubelet." >&2
	echo "Run make as root on Debian, or make test-unit, which needs nothing but Go." >&2
	exit 1
fi
missing=
# What another package has brought (Docker's containerd, say) is as good.
need() { command -v "$2" >/dev/null || missing="$missing $1"; }
need containerd containerd
need runc runc
need containernetworking-plugins /usr/lib/cni/bridge
need iproute2 ip
need mmdebstrap mmdebstrap
need prometheus prometheus
need prometheus promtool
# The image has no C library: another busybox will not do.
dpkg-query --show --showformat='${Status}' busybox-static 2>/dev/null | grep -q 'ok installed' || missing="$missing busybox-static"
# Of the pages that test/docs plays: a program that lists jobs, and the client of the example for Airflow.
need jq jq
dpkg-query --show --showformat='${Status}' python3-kubernetes 2>/dev/null | grep -q 'ok installed' ||
	missing="$missing python3-kubernetes"
# Of lab/fasttrackml, whose SQLite is in C.
need gcc gcc
[ -e /usr/include/stdlib.h ] || missing="$missing libc6-dev"
# Of lab/oidcprovider.
need nodejs node
need npm npm
# Of lab/browser.
need chromium chromium
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$missing postgresql"
[ -z "$missing" ] && exit 0
echo "Installing$missing"
# Tests start a Prometheus of their own. The package's service would start with the package and with the machine, and
# take a port: it is masked, unless there is a unit of that name already.
unit=/etc/systemd/system/prometheus.service
case $missing in
*" prometheus"*) [ -e "$unit" ] || [ -L "$unit" ] || { mkdir -p "${unit%/*}" && ln -s /dev/null "$unit"; } ;;
esac
# The same for PostgreSQL, whose package makes a database and starts a server for it unless it is told not to.
conf=/etc/postgresql-common/createcluster.d/tests.conf
case $missing in
*" postgresql"*) [ -e "$conf" ] || { mkdir -p "${conf%/*}" && echo 'create_main_cluster = false' >"$conf"; } ;;
esac
apt-get update -qq
# shellcheck disable=SC2086 # a list of words
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends --no-remove $missing
