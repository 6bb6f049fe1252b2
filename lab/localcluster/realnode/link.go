package realnode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os/exec"
	"strconv"
)

// Link is the network of a real node: a veth link with an address at each end, and the range of the pods
// behind the node. Its number, 0 to 255, chooses the addresses, from ranges reserved for benchmarks between
// networks (RFC 2544).
type Link struct{ Number byte }

// UnusedLink returns a link that does not exist on this machine.
func UnusedLink() (Link, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return Link{}, fmt.Errorf("listing network interfaces: %w", err)
	}
	taken := map[string]bool{}
	for _, i := range interfaces {
		taken[i.Name] = true
	}
	for _, n := range rand.Perm(256) {
		if link := (Link{byte(n)}); !taken[link.interfaceName()] {
			return link, nil
		}
	}
	return Link{}, errors.New("this machine has 256 real nodes, and no addresses for another")
}

// Machine is this machine's address.
func (l Link) Machine() netip.Addr { return netip.AddrFrom4([4]byte{198, 18, l.Number, 1}) }

// Node is the node's address.
func (l Link) Node() netip.Addr { return netip.AddrFrom4([4]byte{198, 18, l.Number, 2}) }

// pods is the range of the pods' addresses.
func (l Link) pods() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 19, l.Number, 0}), 24)
}

// ServerIPs are the addresses of the cluster's servers besides the loopback one.
func (l Link) ServerIPs() []net.IP { return []net.IP{l.Machine().AsSlice(), l.Node().AsSlice()} }

// interfaceName is the name of this machine's end; at most 15 characters.
func (l Link) interfaceName() string { return fmt.Sprintf("tjnode%d", l.Number) }

// Connect links this machine with the network namespace of the process. The kernel removes the link with that
// namespace.
func (l Link) Connect(ctx context.Context, pid int) error {
	name := l.interfaceName()
	for _, args := range [][]string{
		{"link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(pid)},
		{"address", "add", l.Machine().String() + "/30", "dev", name},
		{"link", "set", name, "up"},
		{"route", "add", l.pods().String(), "via", l.Node().String(), "dev", name},
	} {
		if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("connecting the real node (ip %v): %w: %s", args, err, bytes.TrimSpace(out))
		}
	}
	return nil
}
