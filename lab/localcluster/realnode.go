package localcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// A real node is a kubelet with containerd in namespaces of its own for processes,
// mounts and network: a machine on a cable to this one. lab/modules/node holds its
// configuration; node.sh is its first process.

// Names of a real node's processes and component.
const (
	componentKubelet = "kubelet"
	componentNode    = "node"
	processRealNode  = "real-node"
	processCoreDNS   = "coredns"
	processPause     = "pause"
)

// RealNode is the name of the real node.
const RealNode = "real-0"

// pauseImage holds a pod's namespaces on a real node.
const pauseImage = "registry.example.com/localcluster/pause:1"

// Programs of Debian packages that a real node needs.
func realNodePrograms() map[string]string {
	return map[string]string{
		"containerd": "containerd", "ctr": "containerd", "runc": "runc", "ip": "iproute2",
		"/usr/lib/cni/bridge": "containernetworking-plugins",
	}
}

// cniPlugins is where Debian's package puts them.
const cniPlugins = "/usr/lib/cni"

const kubeletHealthPort = 10248

// cable is the network of a real node: two addresses on a cable, and the range of
// the pods behind it.
type cable struct {
	machine, node netip.Addr
	pods          netip.Prefix
}

// interfaceName on this machine's side; at most 15 characters.
func (c cable) interfaceName() string { return fmt.Sprintf("tjnode%d", c.node.As4()[2]) }

// nodeCable is the n-th, 0 to 255, from ranges that are nobody's (RFC 2544, for
// benchmarks between networks).
func nodeCable(n byte) cable {
	return cable{
		machine: netip.AddrFrom4([4]byte{198, 18, n, 1}), node: netip.AddrFrom4([4]byte{198, 18, n, 2}),
		pods: netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 19, n, 0}), 24),
	}
}

// freeCable is the number of a cable that is not plugged in on this machine.
func freeCable() (byte, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return 0, fmt.Errorf("looking at the network's interfaces: %w", err)
	}
	taken := map[string]bool{}
	for _, i := range interfaces {
		taken[i.Name] = true
	}
	for _, n := range rand.Perm(256) {
		if !taken[nodeCable(byte(n)).interfaceName()] {
			return byte(n), nil
		}
	}
	return 0, errors.New("256 real nodes run on this machine: take some down")
}

// serverIPs are the addresses, besides the loopback one, of the cluster's servers.
func (p plan) serverIPs() []net.IP {
	if !p.options.RealNode {
		return nil
	}
	c := nodeCable(p.nodeNumber)
	return []net.IP{c.machine.AsSlice(), c.node.AsSlice()}
}

// checkRealNode says what this machine lacks for one.
func checkRealNode() error {
	if os.Geteuid() != 0 {
		return errors.New("a real node needs root")
	}
	for program, pkg := range realNodePrograms() {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("a real node needs %s: install the Debian package %s", program, pkg)
		}
	}
	return nil
}

// realNode is the first process of the node, all others are its children.
func (p plan) realNode() process {
	c := nodeCable(p.nodeNumber)
	folder := p.files.realNode()
	return process{
		Name: processRealNode,
		Path: p.configuration(componentNode, "node.sh"),
		Args: []string{
			folder, c.node.String() + "/30", c.machine.String(),
			p.binaries.path(componentNode, processCoreDNS),
			p.binaries.path(componentKubelet, componentKubelet),
			"--config=" + filepath.Join(folder, "kubelet.yaml"),
			"--kubeconfig=" + filepath.Join(folder, "kubeconfig"),
			"--root-dir=" + filepath.Join(folder, "kubelet"),
			"--cert-dir=" + filepath.Join(folder, "certificates"),
			"--hostname-override=" + RealNode,
			"--node-ip=" + c.node.String(),
		},
		Log:      p.files.log(processRealNode),
		Health:   "http://" + netip.AddrPortFrom(c.node, kubeletHealthPort).String() + "/healthz",
		Separate: true,
	}
}

// realNode is the folder of the node: its configuration, and what it writes.
func (l layout) realNode() string { return filepath.Join(l.dir, processRealNode) }

// writeRealNodeFiles writes the node's configuration.
func (p plan) writeRealNodeFiles() error {
	c := nodeCable(p.nodeNumber)
	folder := p.files.realNode()
	for _, sub := range []string{"cni", "images", "kubelet", "pods"} {
		if err := os.MkdirAll(filepath.Join(folder, sub), 0o755); err != nil {
			return fmt.Errorf("creating the real node's folder: %w", err)
		}
	}
	values := map[string]string{
		"DIR": folder, "PKI": p.files.pki(), "PAUSE_IMAGE": pauseImage, "CNI_PLUGINS": cniPlugins,
		"NODE_IP": c.node.String(), "POD_RANGE": c.pods.String(),
	}
	for from, to := range map[string]string{
		"containerd.toml": "containerd.toml", "kubelet.yaml": "kubelet.yaml", "Corefile": "Corefile", "cni.conflist": "cni/bridge.conflist",
	} {
		content, err := os.ReadFile(p.configuration(componentNode, from))
		if err != nil {
			return fmt.Errorf("reading the real node's configuration: %w", err)
		}
		for name, value := range values {
			content = bytes.ReplaceAll(content, []byte("$("+name+")"), []byte(value))
		}
		if err := os.WriteFile(filepath.Join(folder, to), content, 0o600); err != nil {
			return fmt.Errorf("writing the real node's configuration: %w", err)
		}
	}
	// Names outside of the cluster are nobody's business here.
	if err := os.WriteFile(filepath.Join(folder, "resolv.conf"), nil, 0o600); err != nil {
		return fmt.Errorf("writing the real node's configuration: %w", err)
	}
	server := "https://" + netip.AddrPortFrom(c.machine, uint16(p.ports[processAPIServer])).String()
	if err := writeKubeconfigTo(p.files, filepath.Join(folder, "kubeconfig"), server); err != nil {
		return err
	}
	pause := filepath.Join(folder, "images", "pause.tar")
	err := Image{
		Name: pauseImage, Files: map[string]string{"/pause": p.binaries.path(componentNode, processPause)}, Entrypoint: []string{"/pause"},
	}.Write(pause)
	if err != nil {
		return err
	}
	for i, image := range p.options.Images {
		// Not copied: an image may have a gigabyte.
		path, err := filepath.Abs(image)
		if err != nil {
			return fmt.Errorf("resolving image %s: %w", image, err)
		}
		if err := os.Symlink(path, filepath.Join(folder, "images", strconv.Itoa(i)+".tar")); err != nil {
			return fmt.Errorf("laying out image %s: %w", image, err)
		}
	}
	return nil
}

// startRealNode starts the machine, plugs its cable in and waits until it is a node
// with GPUs.
func (c *Cluster) startRealNode(ctx context.Context, p plan) error {
	if err := p.writeRealNodeFiles(); err != nil {
		return err
	}
	node := p.realNode()
	if err := c.launcher.start(&node); err != nil {
		return err
	}
	if err := c.record(node); err != nil {
		return errors.Join(err, stop(ctx, node))
	}
	if err := plugIn(ctx, nodeCable(p.nodeNumber), node.PID); err != nil {
		return err
	}
	if err := c.prober.wait(ctx, node); err != nil {
		return err
	}
	if err := c.giveGPUs(ctx, p.options.GPUsPerNode); err != nil {
		return err
	}
	c.progress(node.Name + " is healthy")
	return nil
}

// plugIn connects this machine with the one whose first process has the pid. The
// cable goes when that ends, for the kernel takes its end in there away.
func plugIn(ctx context.Context, c cable, pid int) error {
	name := c.interfaceName()
	for _, args := range [][]string{
		{"link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(pid)},
		{"address", "add", c.machine.String() + "/30", "dev", name},
		{"link", "set", name, "up"},
		{"route", "add", c.pods.String(), "via", c.node.String(), "dev", name},
	} {
		if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("connecting the real node (ip %v): %w: %s", args, err, bytes.TrimSpace(out))
		}
	}
	return nil
}

// giveGPUs advertises GPUs as a device plugin would, once the kubelet has
// registered its node, and waits until the node can take pods that want them.
func (c *Cluster) giveGPUs(ctx context.Context, gpus int) error {
	ctx, cancel := context.WithTimeout(ctx, healthyWithin)
	defer cancel()
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	patch := fmt.Appendf(nil, `{"status":{"capacity":{%q:"%d"},"allocatable":{%q:"%d"}}}`, resourceGPU, gpus, resourceGPU, gpus)
	err = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if err := c.anyDead(); err != nil {
			return false, err
		}
		node, err := client.CoreV1().Nodes().Get(ctx, RealNode, metav1.GetOptions{})
		if err != nil {
			return false, ignoreNotFound(err)
		}
		if have := node.Status.Allocatable[resourceGPU]; have.Value() == int64(gpus) {
			return nodeUsable(node), nil
		}
		_, err = client.CoreV1().Nodes().Patch(ctx, RealNode, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: fieldOwner}, "status")
		if apierrors.IsConflict(err) {
			err = nil
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("waiting for node %s with its GPUs: %w", RealNode, err)
	}
	return nil
}

// PodLogs is the folder of the real node's logs: <namespace>_<pod>_<uid>/<container>/<n>.log.
func (c *Cluster) PodLogs() string { return filepath.Join(c.files.realNode(), "pods") }

// MachineAddress is this machine's, as pods on the real node reach it.
func (c *Cluster) MachineAddress() netip.Addr { return nodeCable(c.state.RealNodeNumber).machine }
