package realnode

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/image"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/servers"
)

// pauseImage holds a pod's namespaces.
const pauseImage = "registry.example.com/localcluster/pause:1"

// PodLogs is the folder of the pods' logs: <namespace>_<pod>_<uid>/<container>/<n>.log.
func PodLogs(files layout.Layout) string { return filepath.Join(files.RealNode(), "pods") }

// WriteFiles writes the node's configuration, its kubeconfig and its images.
func WriteFiles(c servers.Config, link Link, images []string) error {
	folder := c.Files.RealNode()
	for _, sub := range []string{"cni", "images", "kubelet", "pods"} {
		if err := os.MkdirAll(filepath.Join(folder, sub), 0o755); err != nil {
			return fmt.Errorf("creating the real node's folder: %w", err)
		}
	}
	if err := writeConfiguration(c, link); err != nil {
		return err
	}
	port := uint16(c.Ports[servers.ProcessAPIServer])
	server := "https://" + netip.AddrPortFrom(link.Machine(), port).String()
	if err := layout.WriteKubeconfig(c.Files, filepath.Join(folder, "kubeconfig"), server); err != nil {
		return err
	}
	return writeImages(c, images)
}

// writeConfiguration completes the files of lab/modules/node.
func writeConfiguration(c servers.Config, link Link) error {
	folder := c.Files.RealNode()
	values := map[string]string{
		"DIR": folder, "PKI": c.Files.PKI(), "PAUSE_IMAGE": pauseImage, "CNI_PLUGINS": cniPlugins,
		"NODE_IP": link.Node().String(), "POD_RANGE": link.pods().String(),
	}
	for from, to := range map[string]string{
		"containerd.toml": "containerd.toml", "kubelet.yaml": "kubelet.yaml", "Corefile": "Corefile",
		"cni.conflist": "cni/bridge.conflist",
	} {
		content, err := os.ReadFile(filepath.Join(c.Modules, components.Node, from))
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
	// Empty: names outside of the cluster are not resolved.
	if err := os.WriteFile(filepath.Join(folder, "resolv.conf"), nil, 0o600); err != nil {
		return fmt.Errorf("writing the real node's configuration: %w", err)
	}
	return nil
}

// writeImages writes the pause image and links the others, which may have a gigabyte each.
func writeImages(c servers.Config, images []string) error {
	folder := filepath.Join(c.Files.RealNode(), "images")
	pause := image.Image{
		Name:       pauseImage,
		Files:      map[string]string{"/pause": c.Binaries.Path(components.Node, "pause")},
		Entrypoint: []string{"/pause"},
	}
	if err := pause.Write(filepath.Join(folder, "pause.tar")); err != nil {
		return err
	}
	for i, archive := range images {
		path, err := filepath.Abs(archive)
		if err != nil {
			return fmt.Errorf("resolving image %s: %w", archive, err)
		}
		if err := os.Symlink(path, filepath.Join(folder, strconv.Itoa(i)+".tar")); err != nil {
			return fmt.Errorf("linking image %s: %w", archive, err)
		}
	}
	return nil
}
