package scale

import (
	"context"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"

	"mlplatform.example.com/trainingjob-operator/bench/simulated"
	"mlplatform.example.com/trainingjob-operator/bench/stack"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/schedulers"
)

// Simulated is the name of the scheduler with which the whole cluster is simulated, see package simulated.
const Simulated = "simulated"

// Schedulers that steps are played on: all of a local cluster's, then the simulated one.
func Schedulers() []string { return append(schedulers.Names(), Simulated) }

// dialectOf the operator and its groups on a scheduler.
func dialectOf(scheduler string) string {
	if scheduler == Simulated {
		return localcluster.SchedulerVolcano
	}
	return scheduler
}

// cluster is where a step is played.
type cluster interface {
	// Kubeconfig is the path of a file by which the operator finds it, and RESTConfig the same for the clients
	// of the benchmark.
	Kubeconfig() string
	RESTConfig() *rest.Config
	// AuditLog is the path of the log of what is written.
	AuditLog() string
	// Err says why what is measured on it counts for nothing; nil: it counts.
	Err() error
	Down(ctx context.Context) error
}

// up starts the cluster of a step, without nodes.
func (s *step) up(ctx context.Context, ours stack.Renderer) (cluster, error) {
	if s.result.Scheduler == Simulated {
		up, err := simulated.Up(ctx, filepath.Join(s.dir, "cluster"))
		if err != nil {
			return nil, err
		}
		return up, nil
	}
	options := localcluster.Options{
		Dir: filepath.Join(s.dir, "cluster"), Creator: "bench", Nodes: -1, Audit: true, Attached: true,
		CRDs: []string{s.CRDs}, NodeGracePeriod: nodeGracePeriod,
	}
	ours.Cluster(&options)
	up, err := localcluster.Up(ctx, options)
	if err != nil {
		return nil, err
	}
	return local{up}, nil
}

// nodeGracePeriod makes heartbeats rare, see package rounds.
const nodeGracePeriod = 10 * time.Minute

// local is a local cluster.
type local struct{ *localcluster.Cluster }

// Err implements cluster: a program that ends fails what waits for it.
func (local) Err() error { return nil }
