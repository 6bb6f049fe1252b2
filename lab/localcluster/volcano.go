package localcluster

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// Volcano's processes.
const (
	processVolcanoScheduler  = "vc-scheduler"
	processVolcanoController = "vc-controller-manager"
)

// volcano adds Volcano's scheduler and its controller manager, which opens the
// queues. Its webhooks are optional and left out.
func volcano() scheduler {
	return scheduler{
		components: []string{componentVolcano},
		ports:      []string{processVolcanoScheduler, processVolcanoController},
		prepare: func(ctx context.Context, c *Cluster, p plan) error {
			return c.InstallCRDs(ctx, p.binaries.path(componentVolcano, crdFolder))
		},
		processes: func(p plan) []process {
			return []process{p.volcanoScheduler(), p.volcanoController()}
		},
		ready: waitForDefaultQueue,
	}
}

func (p plan) volcanoScheduler() process {
	return p.volcanoProcess(processVolcanoScheduler,
		"--scheduler-conf="+p.configuration("volcano", "scheduler.yaml"),
		// Else a mistake in our file would silently run another configuration.
		"--disable-default-scheduler-config=true",
		// The default of 1 s is most of what a small gang waits.
		"--schedule-period=200ms",
		// It would write its cache to /tmp on SIGUSR2.
		"--cache-dumper=false",
	)
}

func (p plan) volcanoController() process {
	return p.volcanoProcess(processVolcanoController)
}

// volcanoProcess has the flags that both take. Both default to the same health
// port, on all interfaces.
func (p plan) volcanoProcess(name string, args ...string) process {
	port := p.ports[name]
	return process{
		Name: name,
		Path: p.binaries.path(componentVolcano, name),
		Args: append([]string{
			"--kubeconfig=" + p.files.kubeconfig(),
			"--leader-elect=false",
			"--enable-healthz=true",
			"--healthz-address=" + localAddress(port),
			"--kube-api-qps=2000",
			"--kube-api-burst=4000",
			"--logtostderr=true",
		}, args...),
		Log:    p.files.log(name),
		Ports:  []int{port},
		Health: "http://" + localAddress(port) + "/healthz",
	}
}

// waitForDefaultQueue waits until the queue "default" is Open: the scheduler
// passes over the groups of a queue that is not.
func waitForDefaultQueue(ctx context.Context, c *Cluster) error {
	client, err := dynamic.NewForConfig(c.RESTConfig())
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	queues := client.Resource(v1beta1.SchemeGroupVersion.WithResource("queues"))
	err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if err := c.anyDead(); err != nil {
			return false, err
		}
		queue, err := queues.Get(ctx, "default", metav1.GetOptions{})
		if err != nil {
			return false, ignoreNotFound(err)
		}
		state, _, err := unstructured.NestedString(queue.Object, "status", "state")
		return state == string(v1beta1.QueueStateOpen), err
	})
	if err != nil {
		return fmt.Errorf("waiting for Volcano's queue default to be Open: %w", err)
	}
	return nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
