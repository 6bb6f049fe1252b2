package agent

import (
	"net"
	"net/netip"
	"os"
)

// hydraInterfaces are the variables that set the interface on which Hydra can be reached: MPICH's
// (mpiexec -info, MPICH 4.0.2) and Intel's (Intel MPI Library Developer Reference 2021.13, "Hydra Environment
// Variables"). Open MPI reads neither.
var hydraInterfaces = []string{"HYDRA_IFACE", "I_MPI_HYDRA_IFACE"}

// addInterface sets the interface of the pod's address for Hydra, unless the user has set one. Otherwise
// Hydra sends its proxies on the workers the first label of the launcher's host name, which does not resolve
// there.
func addInterface() error {
	name, known := interfaceOf(os.Getenv("POD_IP"))
	if !known {
		return nil
	}
	for _, variable := range hydraInterfaces {
		if os.Getenv(variable) == "" {
			if err := os.Setenv(variable, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// interfaceOf is the name of the network interface that has an address; false where none has.
func interfaceOf(address string) (string, bool) {
	wanted, err := netip.ParseAddr(address)
	if err != nil {
		return "", false
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		return "", false
	}
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr() == wanted.Unmap() {
				return i.Name, true
			}
		}
	}
	return "", false
}
