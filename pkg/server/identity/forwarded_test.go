package identity

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestForwarders: only trusted proxies name a client, and only the one that connected to them.
func TestForwarders(t *testing.T) {
	f, err := NewForwarders([]string{"10.0.0.0/8", "192.0.2.7/32", "2001:db8:1::/48"})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason, from string
		forwarded    []string
		want         string
	}{
		"no header":      {"the proxy itself asks", "10.1.1.1:80", nil, "10.1.1.1"},
		"one proxy":      {"", "10.1.1.1:80", []string{"203.0.113.5"}, "203.0.113.5"},
		"two proxies":    {"", "10.1.1.1:80", []string{"203.0.113.5, 192.0.2.7"}, "203.0.113.5"},
		"two headers":    {"", "10.1.1.1:80", []string{"203.0.113.5", "192.0.2.7"}, "203.0.113.5"},
		"with a port":    {"some proxies add it", "10.1.1.1:80", []string{"203.0.113.5:4711"}, "203.0.113.5"},
		"IPv6":           {"", "[2001:db8:1::1]:80", []string{"2001:db8:2:3:4::5"}, "2001:db8:2:3::/64"},
		"IPv6, port":     {"", "10.1.1.1:80", []string{"[2001:db8:2:3:4::5]:80"}, "2001:db8:2:3::/64"},
		"mapped":         {"", "[::ffff:10.1.1.1]:80", []string{"::ffff:203.0.113.5"}, "203.0.113.5"},
		"not a proxy":    {"any client can write it", "203.0.113.9:80", []string{"203.0.113.5"}, "203.0.113.9"},
		"forged":         {"the proxy's is last", "10.1.1.1:80", []string{"1.1.1.1, 203.0.113.5"}, "203.0.113.5"},
		"forged proxies": {"", "10.1.1.1:80", []string{"1.1.1.1, 10.2.2.2, 203.0.113.5"}, "203.0.113.5"},
		"all trusted":    {"a client in the network", "10.1.1.1:80", []string{"10.3.3.3, 10.2.2.2"}, "10.3.3.3"},
		"no address":     {"", "10.1.1.1:80", []string{"unknown"}, "10.1.1.1"},
		"no address before a proxy": {"", "10.1.1.1:80", []string{"1.1.1.1, x, 10.2.2.2"},
			"10.2.2.2"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = tc.from
		connection := Address(r)
		for _, value := range tc.forwarded {
			r.Header.Add("X-Forwarded-For", value)
		}
		f.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if got := Address(r); got != tc.want {
				t.Errorf("%s: %s, want %s: %s", name, got, tc.want, tc.reason)
			}
			if got := ConnectionAddress(r); got != connection {
				t.Errorf("%s: the connection is %s, want %s", name, got, connection)
			}
		})).ServeHTTP(httptest.NewRecorder(), r)
	}
}

func TestNewForwarders(t *testing.T) {
	for _, text := range []string{"", "10.0.0.1", "0.0.0.0/0", "::/0", "10.0.0.0/33", "example.com"} {
		if _, err := NewForwarders([]string{text}); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
