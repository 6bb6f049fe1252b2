package main

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// hydraInterfaces are the variables by which Hydra is told on which interface it is reached: MPICH's
// (mpiexec -info, MPICH 4.0.2) and Intel's (Intel MPI Library Developer Reference 2021.13, "Hydra Environment
// Variables"). Open MPI reads neither.
var hydraInterfaces = []string{"HYDRA_IFACE", "I_MPI_HYDRA_IFACE"}

// withInterface tells Hydra the interface of the pod's address. Otherwise it gives its proxies on the workers
// the launcher's host name, of which the first label alone does not resolve there. What the user has set
// stays.
func withInterface(environ []string) []string {
	name, known := interfaceOf(variableOf(environ, "POD_IP"))
	if !known {
		return environ
	}
	environ = slices.Clone(environ)
	for _, variable := range hydraInterfaces {
		if variableOf(environ, variable) == "" {
			environ = append(environ, variable+"="+name)
		}
	}
	return environ
}

// variableOf an environment; "" where it is not set.
func variableOf(environ []string, name string) string {
	for _, e := range environ {
		if value, is := strings.CutPrefix(e, name+"="); is {
			return value
		}
	}
	return ""
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
