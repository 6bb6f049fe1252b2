#!/bin/sh
# Installs the packages for the tests with real nodes: a container runtime, network plugins, and a tool that builds
# root file systems from Debian packages. It also installs Prometheus, PostgreSQL for the server's history, and
# Node.js for the OpenID provider.
set -eu
if [ "$(uname)" != Linux ] || [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
	echo "The tests with real containers need Debian and root: they start containerd and a kubelet." >&2
	echo "Run make as root on Debian, or make test-unit, which needs only Go and python3 with venv." >&2
	exit 1
fi
missing=
# A command from another package, such as Docker's containerd, is also sufficient.
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
# For test/docs: jq, and the client of the Airflow example.
need jq jq
dpkg-query --show --showformat='${Status}' python3-kubernetes 2>/dev/null | grep -q 'ok installed' ||
	missing="$missing python3-kubernetes"
# For cmd/release, which installs the wheel.
python3 -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
# For lab/python.
python3 -m pip --version >/dev/null 2>&1 || missing="$missing python3-pip"
# For lab/oidcprovider.
need nodejs node
need npm npm
# For lab/browser.
need chromium chromium
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$missing postgresql"
[ -z "$missing" ] && exit 0
echo "Installing$missing"
# Tests start their own Prometheus. This masks the package's service, which would start with the package and use a
# port, unless a unit of that name exists.
unit=/etc/systemd/system/prometheus.service
case $missing in
*" prometheus"*) [ -e "$unit" ] || [ -L "$unit" ] || { mkdir -p "${unit%/*}" && ln -s /dev/null "$unit"; } ;;
esac
# The package of PostgreSQL creates a database and starts a server, unless this file disables it.
conf=/etc/postgresql-common/createcluster.d/tests.conf
case $missing in
*" postgresql"*) [ -e "$conf" ] || { mkdir -p "${conf%/*}" && echo 'create_main_cluster = false' >"$conf"; } ;;
esac
apt-get update -qq
# shellcheck disable=SC2086 # a list of words
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends --no-remove $missing
