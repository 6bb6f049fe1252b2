package servers

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/objects"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// Volcano's processes.
const (
	ProcessVolcanoScheduler  = "vc-scheduler"
	ProcessVolcanoController = "vc-controller-manager"
)

// volcano adds Volcano's scheduler and its controller manager, which opens the queues. Its webhooks are
// optional and left out.
func volcano() Extension {
	return Extension{
		Components: []string{components.Volcano},
		Ports:      []string{ProcessVolcanoScheduler, ProcessVolcanoController},
		Prepare: func(ctx context.Context, c Config, config *rest.Config) error {
			return objects.InstallCRDs(ctx, config, c.Binaries.Path(components.Volcano, components.CRDFolder))
		},
		Processes: func(c Config) []process.Process {
			return []process.Process{c.volcanoScheduler(), c.volcanoController()}
		},
		Ready: waitForDefaultQueue,
	}
}

// StorageProvisioner is the provisioner of the claims of simulated trainers (package lab/simtrainer).
const StorageProvisioner = "localcluster.mlplatform.example.com/simulated"

func (c Config) volcanoScheduler() process.Process {
	return c.volcanoProcess(ProcessVolcanoScheduler,
		"--scheduler-conf="+c.configuration(SchedulerVolcano, "volcano", schedulerConfiguration),
		// Without this flag a mistake in our file silently selects another configuration.
		"--disable-default-scheduler-config=true",
		// The default of 1 s is most of what a small gang waits.
		"--schedule-period=200ms",
		// Otherwise it writes its cache to /tmp on SIGUSR2.
		"--cache-dumper=false",
		// For a claim that is not bound when a pod arrives, Volcano takes the class's provisioner for a CSI
		// driver, and asks of the node one attachable volume of it, which no node has; it asks again only when the
		// pod changes (pkg/scheduler/cache/event_handlers.go, getPodCSIVolumes).
		"--ignored-provisioners="+StorageProvisioner,
	)
}

func (c Config) volcanoController() process.Process {
	return c.volcanoProcess(ProcessVolcanoController)
}

// volcanoProcess is a process with the flags that both take. Both default to the same health port, on all
// interfaces.
func (c Config) volcanoProcess(name string, more ...string) process.Process {
	port := c.Ports[name]
	args := []string{
		"--kubeconfig=" + c.Files.Kubeconfig(),
		"--leader-elect=false",
		"--enable-healthz=true",
		"--healthz-address=" + layout.LocalAddress(port),
	}
	args = append(append(args, c.limitArgs(name, raised)...), "--logtostderr=true")
	return process.Process{
		Name:   name,
		Path:   c.Binaries.Path(components.Volcano, name),
		Args:   append(args, more...),
		Log:    c.Files.Log(name),
		Ports:  []int{port},
		Health: "http://" + layout.LocalAddress(port) + "/healthz",
	}
}

// waitForDefaultQueue waits until the queue "default" is Open: the scheduler skips the groups of any other
// queue.
func waitForDefaultQueue(ctx context.Context, config *rest.Config, died func() error) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	queues := client.Resource(v1beta1.SchemeGroupVersion.WithResource("queues"))
	err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if err := died(); err != nil {
			return false, err
		}
		queue, err := queues.Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		state, _, err := unstructured.NestedString(queue.Object, "status", "state")
		return state == string(v1beta1.QueueStateOpen), err
	})
	if err != nil {
		return fmt.Errorf("waiting for Volcano's queue default to be Open: %w", err)
	}
	return nil
}
