#!/bin/bash
# A machine of its own for a kubelet. The caller has given this process namespaces
# for processes, mounts and network. As its first process it ends when the first of
# those that it starts has ended, and the kernel then ends whatever else runs in
# here: containers, their mounts and their network leave no trace. To kill it is to
# cut the node's power.
#
#   node.sh FOLDER ADDRESS GATEWAY COREDNS KUBELET KUBELET-ARGUMENT...
set -euo pipefail
folder=$1 address=$2 gateway=$3 coredns=$4
shift 4
trap 'exit 0' TERM INT

mount --make-rprivate /
mount -t proc proc /proc
# What containerd, runc and the network plugins keep there is this node's alone.
mount -t tmpfs tmpfs /run
socket=/run/containerd.sock

# The cable is plugged in from outside.
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
# A trapped signal ends the wait, too.
wait -n
echo "one of the node's processes has ended" >&2
exit 1
