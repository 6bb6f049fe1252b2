package servers

import (
	"path/filepath"
	"strconv"
	"time"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/objects"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// kwok is the process of KWOK, which plays the kubelets of fake nodes.
func (c Config) kwok() process.Process {
	port := c.Ports[ProcessKWOK]
	args := []string{
		"--kubeconfig=" + c.Files.Kubeconfig(),
		// A node with a real kubelet is not KWOK's to manage.
		"--manage-nodes-with-annotation-selector=" + objects.FakeNodeAnnotation + "=" + objects.FakeNodeValue,
		// Nor is a killed node. With this flag a node without any label is not managed either.
		"--manage-nodes-with-label-selector=!" + objects.LabelKilled,
		"--node-lease-duration-seconds=" + strconv.Itoa(leaseSeconds(c.NodeGracePeriod)),
		"--server-address=" + layout.LocalAddress(port),
		"--config=" + c.moduleFile("kwok", "configuration.yaml"),
		// Otherwise it logs every renewal of a lease: 30 MB an hour with 64 nodes.
		"--v=WARN",
	}
	// The stages of nodes come first: objects.Kill says why.
	folder := c.Binaries.Path(components.KWOK, components.StageFolder)
	for _, stage := range kwokStages() {
		args = append(args, "--config="+filepath.Join(folder, stage))
	}
	for _, stage := range ownStages() {
		args = append(args, "--config="+c.moduleFile("kwok", "stages", stage))
	}
	return process.Process{
		Name:   ProcessKWOK,
		Path:   c.Binaries.Path(components.KWOK, ProcessKWOK),
		Args:   args,
		Log:    c.Files.Log(ProcessKWOK),
		Ports:  []int{port},
		Health: "http://" + layout.LocalAddress(port) + "/healthz",
	}
}

// leaseSeconds is how long a node's lease lasts. KWOK renews it after a quarter of that time. A KWOK that
// is restarted waits until the leases of the one before have run out: two thirds of the grace period leave
// it time to take over before the node is NotReady.
func leaseSeconds(gracePeriod time.Duration) int {
	return max(1, int(gracePeriod.Seconds()*2/3))
}

// kwokStages are the stages that KWOK brings and we use. Its pod-complete is left out, since it ends only
// pods of Jobs and at once; its pod-delete, since it leaves a pod no time to save.
func kwokStages() []string {
	return []string{"node-initialize.yaml", "node-heartbeat-with-lease.yaml", "pod-ready.yaml"}
}

// ownStages are ours, in lab/modules/kwok/stages.
func ownStages() []string { return []string{"pod-finish.yaml", "pod-delete.yaml"} }
