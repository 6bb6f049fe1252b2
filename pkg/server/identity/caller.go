package identity

import (
	"net"
	"net/http"
	"net/netip"
)

// Address whom a request is from: an IPv4 address, or the 64 bits of an IPv6 address that one site has. It is
// that of the connection, never what a header says.
func Address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	address = address.Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}
	return netip.PrefixFrom(address, 64).Masked().String()
}

// Caller names whom an authenticated request is from, the same for all of a user's tokens. It is empty for
// any other request.
func Caller(r *http.Request) string {
	id, ok := FromContext(r.Context())
	if !ok {
		return ""
	}
	return id.Caller()
}

// Caller names the user, the same for all the ways of one source in which it proves who it is.
func (i Identity) Caller() string { return string(i.Source) + "/" + i.Cluster + "/" + i.Name }

// Explicit reports whether a request says by a header who is calling, whether or not that is accepted.
func Explicit(r *http.Request) bool {
	return len(r.Header.Values(headerUser))+len(r.Header.Values(headerGroups))+
		len(r.Header.Values("Authorization")) > 0
}
