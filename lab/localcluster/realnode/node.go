// Package realnode gives a local cluster a node with a real kubelet and containerd, in process, mount and
// network namespaces of its own: a machine that a veth link connects with this one. lab/modules/node holds
// its configuration; node.sh there is its first process, and all others are its children.
package realnode

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/servers"
)

// Name of the node.
const Name = "real-0"

// processName is the name of the node's first process.
const processName = "real-node"

// cniPlugins is the folder of the Debian package containernetworking-plugins.
const cniPlugins = "/usr/lib/cni"

const kubeletHealthPort = 10248

// Check says what this machine lacks for a real node.
func Check() error {
	if os.Geteuid() != 0 {
		return errors.New("a real node needs root")
	}
	for _, program := range []string{"containerd", "ctr", "runc", "ip", cniPlugins + "/bridge"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("a real node needs %s; install what it needs with: test/e2e/install.sh", program)
		}
	}
	return nil
}

// Process is the node's first process.
func Process(c servers.Config, link Link) process.Process {
	folder := c.Files.RealNode()
	return process.Process{
		Name: processName,
		Path: filepath.Join(c.Modules, components.Node, "node.sh"),
		Args: []string{
			folder, link.Node().String() + "/30", link.Machine().String(),
			c.Binaries.Path(components.Node, "coredns"),
			c.Binaries.Path(components.Kubelet, "kubelet"),
			"--config=" + filepath.Join(folder, "kubelet.yaml"),
			"--kubeconfig=" + filepath.Join(folder, "kubeconfig"),
			"--root-dir=" + filepath.Join(folder, "kubelet"),
			"--cert-dir=" + filepath.Join(folder, "certificates"),
			"--hostname-override=" + Name,
			"--node-ip=" + link.Node().String(),
		},
		Log:      c.Files.Log(processName),
		Health:   "http://" + netip.AddrPortFrom(link.Node(), kubeletHealthPort).String() + "/healthz",
		Separate: true,
	}
}
