package agent

import (
	"net"
	"net/netip"
	"os"
)

// hydraInterfaces are the variables by which Hydra is told on which interface it is reached: MPICH's
// (mpiexec -info, MPICH 4.0.2) and Intel's (Intel MPI Library Developer Reference 2021.13, "Hydra Environment
// Variables"). Open MPI reads neither.
var hydraInterfaces = []string{"HYDRA_IFACE", "I_MPI_HYDRA_IFACE"}

// addInterface tells Hydra the interface of the pod's address. Otherwise it gives its proxies on the workers
// the launcher's host name, of which the first label alone does not resolve there. What the user has set
// stays.
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
