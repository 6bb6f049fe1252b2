#!/bin/bash
# The first process of a node with a real kubelet. The caller starts it in its own
# process, mount and network namespaces. It exits when the first of its children has
# ended. The kernel then kills the other processes in the namespaces and removes
# mounts and network. Killing this process is like cutting the node's power.
#
#   node.sh FOLDER ADDRESS GATEWAY COREDNS KUBELET KUBELET-ARGUMENT...
set -euo pipefail
folder=$1 address=$2 gateway=$3 coredns=$4
shift 4
trap 'exit 0' TERM INT

mount --make-rprivate /
mount -t proc proc /proc
# containerd, runc and the network plugins share no state with those of the machine.
mount -t tmpfs tmpfs /run
socket=/run/containerd.sock

# The caller creates the veth link.
until ip link show dev eth0 >/dev/null 2>&1; do sleep 0.05; done
ip link set lo up
ip address add "$address" dev eth0
ip link set eth0 up
ip route add default via "$gateway"
echo 1 >/proc/sys/net/ipv4/ip_forward

containerd --config "$folder/containerd.toml" &
until ctr --address $socket version >/dev/null 2>&1; do sleep 0.1; done
for image in "$folder"/images/*.tar; do
	ctr --address $socket --namespace k8s.io images import "$image"
done
"$coredns" -conf "$folder/Corefile" &
"$@" &
# A trapped signal also ends the wait.
wait -n
echo "one of the node's processes has ended" >&2
exit 1
