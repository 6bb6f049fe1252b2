package situations

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/bench/operator"
	"mlplatform.example.com/trainingjob-operator/bench/play"
	"mlplatform.example.com/trainingjob-operator/bench/stack"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/objects"
	"mlplatform.example.com/trainingjob-operator/lab/simtrainer"
	"mlplatform.example.com/trainingjob-operator/pkg/config"
)

// namespace of all jobs.
const namespace = "situations"

const gpusPerNode = 8

// Ground is what situations are played on.
type Ground struct {
	Scheduler string
	// Nodes of 8 GPUs.
	Nodes int
	// Seed of the gangs. Who is placed where is the scheduler's, and differs from one time to the next.
	Seed uint64
	// Operator is the path of its binary, CRDs that of their folder, and Out that of the folder of records.
	Operator, CRDs, Out string
	Progress            io.Writer

	// preemption of the operator's configuration; nil: the operator does not preempt.
	preemption *config.Preemption
}

func (g *Ground) say(what string) { fmt.Fprintf(g.Progress, "%s: %s\n", g.Scheduler, what) }

// cluster is where situations are played.
type cluster struct {
	*localcluster.Cluster
	api      client.Client
	jobs     stack.Renderer
	operator *operator.Process
	// volume is the file with the state of all simulated trainers.
	volume string
	// stopTrainers ends their simulation, and returns what went wrong in it.
	stopTrainers func() error
}

// up starts all of it.
func (g *Ground) up(ctx context.Context, dir string) (*cluster, error) {
	jobs, ok := stack.Ours(g.Scheduler).(stack.Renderer)
	if !ok {
		return nil, errors.New("the stack of TrainingJobs renders no objects")
	}
	on := &cluster{
		jobs: jobs, volume: filepath.Join(dir, "volume.json"), stopTrainers: func() error { return nil },
	}
	if err := g.begin(ctx, dir, on); err != nil {
		return nil, errors.Join(err, on.down(ctx))
	}
	return on, nil
}

func (g *Ground) begin(ctx context.Context, dir string, on *cluster) (err error) {
	g.say("starting a cluster")
	options := localcluster.Options{
		Dir: filepath.Join(dir, "cluster"), Creator: "bench", Nodes: -1, Audit: true, Attached: true,
		CRDs: []string{g.CRDs},
	}
	on.jobs.Cluster(&options)
	if on.Cluster, err = localcluster.Up(ctx, options); err != nil {
		return err
	}
	config := on.RESTConfig()
	config.QPS = -1
	trainers, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- simtrainer.Run(trainers, config, simtrainer.Options{StateFile: on.volume}) }()
	on.stopTrainers = func() error { stop(); return <-ended }
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	if on.api, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	// One after the other: schedulers that look at nodes in the order in which they came then do so by number.
	for _, node := range play.FakeNodes(g.Nodes, gpusPerNode) {
		if err := objects.CreateNodes(ctx, clients, []*corev1.Node{node}); err != nil {
			return err
		}
	}
	if err := play.Ground(ctx, clients, namespace, g.Nodes, gpusPerNode); err != nil {
		return err
	}
	queues, err := stack.NewClient(on.jobs, stack.ClientConfig(config, "bench"))
	if err != nil {
		return err
	}
	if err := queues.Prepare(ctx, namespace, g.Nodes*gpusPerNode); err != nil {
		return err
	}
	return g.startOperator(ctx, dir, on)
}

func (g *Ground) startOperator(ctx context.Context, dir string, on *cluster) (err error) {
	o := operator.Options{
		Binary: g.Operator, Kubeconfig: on.Kubeconfig(), Scheduler: g.Scheduler, Dir: dir, Name: operatorProgram,
		Agent: "example.com/agent:1", // no fake node runs it
	}
	if g.preemption != nil {
		o.Preemption = *g.preemption
		o.Certificates.Cert, o.Certificates.Key, o.Certificates.Authority = on.ServingFiles()
	}
	on.operator, err = operator.Start(ctx, o)
	return err
}

// down stops the cluster.
func (on *cluster) down(ctx context.Context) error {
	err := on.stopTrainers()
	if on.operator != nil {
		err = errors.Join(err, on.operator.Stop())
	}
	if on.Cluster != nil {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_ = on.Down(ended) // attached: what is left ends with this process
	}
	return err
}
