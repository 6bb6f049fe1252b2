package calibrate

import (
	"context"
	"errors"
	"fmt"
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
)

// namespace of all jobs.
const namespace = "calibrate"

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
func (c *Calibration) up(ctx context.Context, dir string) (*cluster, error) {
	jobs, ok := stack.Ours(c.Scheduler).(stack.Renderer)
	if !ok {
		return nil, errors.New("TrainingJobs are not said as data")
	}
	on := &cluster{
		jobs: jobs, volume: filepath.Join(dir, "volume.json"), stopTrainers: func() error { return nil },
	}
	if err := c.begin(ctx, dir, on); err != nil {
		return nil, errors.Join(err, on.down(ctx))
	}
	return on, nil
}

func (c *Calibration) begin(ctx context.Context, dir string, on *cluster) (err error) {
	c.say("starting a cluster")
	options := localcluster.Options{
		Dir: filepath.Join(dir, "cluster"), Creator: "bench", Nodes: -1, Attached: true, CRDs: []string{c.CRDs},
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
	for _, node := range play.FakeNodes(c.Nodes, gpusPerNode) {
		if err := objects.CreateNodes(ctx, clients, []*corev1.Node{node}); err != nil {
			return err
		}
	}
	if err := play.Ground(ctx, clients, namespace, c.Nodes, gpusPerNode); err != nil {
		return err
	}
	queues, err := stack.NewClient(on.jobs, stack.ClientConfig(config, "bench"))
	if err != nil {
		return err
	}
	if err := queues.Prepare(ctx, namespace, c.Nodes*gpusPerNode); err != nil {
		return err
	}
	on.operator, err = operator.Start(ctx, operator.Options{
		Binary: c.Operator, Kubeconfig: on.Kubeconfig(), Scheduler: c.Scheduler, Dir: dir, Name: "operator",
		Agent: "example.com/agent:1", // no fake node runs it
	})
	return err
}

// down ends all of it. Nobody looks at it again.
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
