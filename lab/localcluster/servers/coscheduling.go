package servers

import (
	"context"
	"strconv"

	"k8s.io/client-go/rest"

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
func coscheduling() Extension {
	return Extension{
		Components: []string{components.SchedulerPlugins},
		Ports:      []string{processPlugins},
		Prepare: func(ctx context.Context, c Config, config *rest.Config) error {
			err := c.completeSchedulerConfiguration(SchedulerCoscheduling, components.SchedulerPlugins,
				c.Files.PluginsConfiguration())
			if err != nil {
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
