package agent

import (
	"os"
	"testing"
)

// TestAddInterface: Hydra gets the interface of the pod's address, unless the user sets one or it is unknown.
func TestAddInterface(t *testing.T) {
	loopback, known := interfaceOf("127.0.0.1")
	if !known {
		t.Fatal("this machine has no loopback interface")
	}
	cases := map[string]struct{ podIP, own, mpich, intel string }{
		"the pod's address":  {podIP: "127.0.0.1", mpich: loopback, intel: loopback},
		"the user's own":     {podIP: "127.0.0.1", own: "ib0", mpich: "ib0", intel: loopback},
		"an unknown address": {podIP: "192.0.2.1"},
		"no address":         {},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POD_IP", c.podIP)
			t.Setenv("HYDRA_IFACE", c.own)
			t.Setenv("I_MPI_HYDRA_IFACE", "")
			if err := addInterface(); err != nil {
				t.Fatal(err)
			}
			if mpich, intel := os.Getenv("HYDRA_IFACE"), os.Getenv("I_MPI_HYDRA_IFACE"); mpich != c.mpich ||
				intel != c.intel {
				t.Errorf("%q and %q, want %q and %q", mpich, intel, c.mpich, c.intel)
			}
		})
	}
}
