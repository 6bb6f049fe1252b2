package servers

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/objects"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// processPlugins is the process of scheduler-plugins.
const processPlugins = "scheduler-plugins-scheduler"

// coscheduling adds a second kube-scheduler, with the plugins of scheduler-plugins. Each of the two serves
// the pods that name one of its profiles; pods that name no scheduler stay with the normal one. The
// controller of scheduler-plugins, which writes the status of groups and quotas, is left out: neither the
// scheduler nor the operator reads it.
func coscheduling() Scheduler {
	return Scheduler{
		Components: []string{components.SchedulerPlugins},
		Ports:      []string{processPlugins},
		Prepare: func(ctx context.Context, c Config, config *rest.Config) error {
			if err := c.writePluginsConfiguration(); err != nil {
				return err
			}
			return objects.InstallCRDs(ctx, config, c.Binaries.Path(components.SchedulerPlugins, components.CRDFolder))
		},
		Processes: func(c Config) []process.Process { return []process.Process{c.pluginsScheduler()} },
	}
}

func (c Config) pluginsScheduler() process.Process {
	port := c.Ports[processPlugins]
	args := []string{
		"--config=" + c.Files.PluginsConfiguration(),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
	}
	if c.CoschedulingFlags == nil {
		args = append(args,
			// The configuration file says why.
			"--feature-gates=SchedulerPopFromBackoffQ=false",
			// A gang that was refused for a reason that ends without an event (its group is in backoff) sleeps
			// until the queue is flushed, by default after 5 minutes.
			"--pod-max-in-unschedulable-pods-duration=5s")
	}
	args = append(args, c.CoschedulingFlags...)
	return process.Process{
		Name:   processPlugins,
		Path:   c.Binaries.Path(components.SchedulerPlugins, processPlugins),
		Args:   append(args, c.servingFlags()...),
		Log:    c.Files.Log(processPlugins),
		Ports:  []int{port},
		Health: layout.LocalURL(port, "/readyz"),
	}
}

// writePluginsConfiguration writes the file of lab/modules with the path of the kubeconfig in it: a
// kube-scheduler that is given a file ignores the flag for the path.
func (c Config) writePluginsConfiguration() error {
	path := c.moduleFile(components.SchedulerPlugins, "scheduler.yaml")
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the scheduler's configuration: %w", err)
	}
	configuration := map[string]any{}
	if err := yaml.Unmarshal(content, &configuration); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	err = unstructured.SetNestedField(configuration, c.Files.Kubeconfig(), "clientConnection", "kubeconfig")
	if err != nil {
		return fmt.Errorf("completing %s: %w", path, err)
	}
	if content, err = yaml.Marshal(configuration); err != nil {
		return fmt.Errorf("completing %s: %w", path, err)
	}
	if err := os.WriteFile(c.Files.PluginsConfiguration(), content, 0o600); err != nil {
		return fmt.Errorf("writing the scheduler's configuration: %w", err)
	}
	return nil
}
