package identity

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// headerForwarded has the addresses through which a request came, each added by the next proxy at the end.
const headerForwarded = "X-Forwarded-For"

// Forwarders are the networks of trusted proxies, which name their clients in X-Forwarded-For.
type Forwarders []netip.Prefix

// NewForwarders parses networks, such as 10.0.0.0/8.
func NewForwarders(networks []string) (Forwarders, error) {
	var all Forwarders
	for _, text := range networks {
		network, err := netip.ParsePrefix(text)
		if err != nil || network.Bits() == 0 {
			return nil, fmt.Errorf("%q is not a network such as 10.0.0.0/8 or 192.0.2.7/32", text)
		}
		all = append(all, network.Masked())
	}
	return all, nil
}

type connectionKey struct{}

// Handler replaces the RemoteAddr of requests from the proxies by the address of their client. It must be the
// outermost handler.
func (f Forwarders) Handler(next http.Handler) http.Handler {
	if len(f) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), connectionKey{}, Address(r))
		r = r.WithContext(ctx)
		r.RemoteAddr = f.client(r)
		next.ServeHTTP(w, r)
	})
}

// client returns the last address that no trusted proxy has, read from the right: clients can write anything
// to the left of it. If all are trusted it is the first. What follows an invalid entry counts alone.
func (f Forwarders) client(r *http.Request) string {
	client := r.RemoteAddr
	hops := strings.Split(strings.Join(r.Header.Values(headerForwarded), ","), ",")
	for _, hop := range slices.Backward(hops) {
		address, valid := addressIn(client)
		if !valid || !f.trusts(address) {
			break
		}
		further, valid := addressIn(strings.TrimSpace(hop))
		if !valid {
			break
		}
		client = net.JoinHostPort(further.String(), "0")
	}
	return client
}

func (f Forwarders) trusts(address netip.Addr) bool {
	return slices.ContainsFunc(f, func(network netip.Prefix) bool { return network.Contains(address) })
}

// addressIn parses an address with or without a port.
func addressIn(text string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		var with netip.AddrPort
		with, err = netip.ParseAddrPort(text)
		address = with.Addr()
	}
	return address.Unmap().WithZone(""), err == nil
}

// ConnectionAddress is Address of the connection's other end, which can be a proxy.
func ConnectionAddress(r *http.Request) string {
	if address, ok := r.Context().Value(connectionKey{}).(string); ok {
		return address
	}
	return Address(r)
}
