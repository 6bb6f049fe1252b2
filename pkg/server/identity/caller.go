package identity

import (
	"net"
	"net/http"
	"net/netip"
)

// Address returns the client of a request: an IPv4 address, or the /64 network of an IPv6 address. It is that
// of the connection, or the one that a trusted proxy names (Forwarders).
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

// Caller returns the user of an authenticated request, the same for all tokens of the user. It is empty for
// other requests.
func Caller(r *http.Request) string {
	id, ok := FromContext(r.Context())
	if !ok {
		return ""
	}
	return id.Caller()
}

// Caller returns a name of the user that is the same for all credentials from one source.
func (i Identity) Caller() string { return string(i.Source) + "/" + i.Cluster + "/" + i.Name }

// Explicit reports whether a header of the request has credentials, valid or not.
func Explicit(r *http.Request) bool {
	return len(r.Header.Values(headerUser))+len(r.Header.Values(headerGroups))+
		len(r.Header.Values("Authorization")) > 0
}
