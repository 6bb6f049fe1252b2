package localcluster

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// processPlugins is a kube-scheduler with the plugins of scheduler-plugins.
const processPlugins = "scheduler-plugins-scheduler"

// coscheduling adds it beside the normal one. Each serves pods by the names of
// its profiles: pods that name no scheduler stay with the normal one. The
// controller of scheduler-plugins, which writes the status of groups and
// quotas, is left out: neither the scheduler nor the operator reads it.
func coscheduling() scheduler {
	return scheduler{
		components: []string{componentPlugins},
		ports:      []string{processPlugins},
		prepare: func(ctx context.Context, c *Cluster, p plan) error {
			if err := p.writePluginsConfiguration(); err != nil {
				return err
			}
			return c.InstallCRDs(ctx, p.binaries.path(componentPlugins, crdFolder))
		},
		processes: func(p plan) []process { return []process{p.pluginsScheduler()} },
	}
}

func (p plan) pluginsScheduler() process {
	port := p.ports[processPlugins]
	args := []string{
		"--config=" + p.files.plugins(),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		// The configuration says why.
		"--feature-gates=SchedulerPopFromBackoffQ=false",
		// A gang that was refused for a reason that passes without an event (its group
		// in backoff) sleeps until the queue is swept: 5 minutes unless told otherwise.
		"--pod-max-in-unschedulable-pods-duration=5s",
	}
	return process{
		Name:   processPlugins,
		Path:   p.binaries.path(componentPlugins, processPlugins),
		Args:   append(args, p.servingFlags()...),
		Log:    p.files.log(processPlugins),
		Ports:  []int{port},
		Health: localURL(port, "/readyz"),
	}
}

// writePluginsConfiguration completes our file with the path of the kubeconfig:
// a kube-scheduler that is given a file takes no notice of the flag.
func (p plan) writePluginsConfiguration() error {
	path := p.configuration(componentPlugins, "scheduler.yaml")
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the scheduler's configuration: %w", err)
	}
	configuration := map[string]any{}
	if err := yaml.Unmarshal(content, &configuration); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if err := unstructured.SetNestedField(configuration, p.files.kubeconfig(), "clientConnection", "kubeconfig"); err != nil {
		return fmt.Errorf("completing %s: %w", path, err)
	}
	if content, err = yaml.Marshal(configuration); err != nil {
		return fmt.Errorf("completing %s: %w", path, err)
	}
	if err := os.WriteFile(p.files.plugins(), content, 0o600); err != nil {
		return fmt.Errorf("writing the scheduler's configuration: %w", err)
	}
	return nil
}
