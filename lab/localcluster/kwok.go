package localcluster

import (
	"path/filepath"
	"strconv"
	"time"
)

// kwok is the command line of KWOK, which plays the kubelets of fake nodes.
func (p plan) kwok() process {
	port := p.ports[processKwok]
	args := []string{
		"--kubeconfig=" + p.files.kubeconfig(),
		// Not all nodes: a real kubelet may join.
		"--manage-nodes-with-annotation-selector=" + fakeNodeAnnotation + "=" + fakeNodeValue,
		// Nor dead ones. (With this, a node without any label is not managed either.)
		"--manage-nodes-with-label-selector=!" + LabelKilled,
		"--node-lease-duration-seconds=" + strconv.Itoa(leaseSeconds(p.options.NodeGracePeriod)),
		"--server-address=" + localAddress(port),
		"--config=" + p.configuration("kwok", "configuration.yaml"),
		// It logs every renewal of a lease: 30 MB an hour with 64 nodes.
		"--v=WARN",
	}
	// Those of nodes come first: KillNode says why.
	for _, stage := range kwokStages() {
		args = append(args, "--config="+filepath.Join(p.binaries.path(componentKwok, stageFolder), stage))
	}
	for _, stage := range ownStages() {
		args = append(args, "--config="+p.configuration("kwok", "stages", stage))
	}
	return process{
		Name:   processKwok,
		Path:   p.binaries.path(componentKwok, "kwok"),
		Args:   args,
		Log:    p.files.log(processKwok),
		Ports:  []int{port},
		Health: "http://" + localAddress(port) + "/healthz",
	}
}

// leaseSeconds is how long a node's lease lasts. KWOK renews it every quarter of
// that, and a KWOK that was started anew waits until those of the one before have
// run out: two thirds leave it time to take over before the node is NotReady.
func leaseSeconds(gracePeriod time.Duration) int {
	return max(1, int(gracePeriod.Seconds()*2/3))
}

// kwokStages are KWOK's own stages that we use. Not its pod-complete, which ends
// pods of Jobs only and at once, nor its pod-delete, which leaves no pod time for
// a last word.
func kwokStages() []string {
	return []string{"node-initialize.yaml", "node-heartbeat-with-lease.yaml", "pod-ready.yaml"}
}

// ownStages are ours, in lab/modules/kwok/stages.
func ownStages() []string { return []string{"pod-finish.yaml", "pod-delete.yaml"} }
