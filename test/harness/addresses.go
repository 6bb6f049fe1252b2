package harness

import (
	"fmt"
	"path/filepath"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
)

// FreeAddresses chooses loopback addresses for servers that do not listen yet. Unlike ports that the kernel
// chooses, no outgoing connection takes them in the meantime, and until release no other cluster does.
func FreeAddresses(n int) (addresses []string, release func(), err error) {
	cache, err := components.FindCache("")
	if err != nil {
		return nil, nil, err
	}
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("server %d", i)
	}
	ports, release, err := layout.ChoosePorts(filepath.Join(cache, "ports"), names)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		addresses = append(addresses, layout.LocalAddress(ports[name]))
	}
	return addresses, release, nil
}
