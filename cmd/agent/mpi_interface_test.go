package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWithInterface: Hydra is told the interface of the pod's address, unless the user has, or nobody knows.
func TestWithInterface(t *testing.T) {
	loopback, known := interfaceOf("127.0.0.1")
	if !known {
		t.Fatal("this machine has no loopback interface")
	}
	cases := map[string]struct{ environ, want []string }{
		"the pod's address": {
			[]string{"POD_IP=127.0.0.1", "A=b"},
			[]string{"POD_IP=127.0.0.1", "A=b", "HYDRA_IFACE=" + loopback, "I_MPI_HYDRA_IFACE=" + loopback},
		},
		"the user's own": {
			[]string{"POD_IP=127.0.0.1", "HYDRA_IFACE=ib0"},
			[]string{"POD_IP=127.0.0.1", "HYDRA_IFACE=ib0", "I_MPI_HYDRA_IFACE=" + loopback},
		},
		"an address of nobody": {[]string{"POD_IP=192.0.2.1"}, []string{"POD_IP=192.0.2.1"}},
		"no address":           {[]string{"A=b"}, []string{"A=b"}},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, withInterface(c.environ)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
