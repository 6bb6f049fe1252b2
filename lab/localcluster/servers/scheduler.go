package servers

import (
	"context"

	"k8s.io/client-go/rest"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// Scheduler is what one choice of gang scheduler adds to the plain control plane. Functions may be nil.
type Scheduler struct {
	// Components to build beside the base.
	Components []string
	// Ports to choose, by name.
	Ports    []string
	Features Features
	// Prepare runs once the API server is ready, before any other process starts.
	Prepare func(ctx context.Context, c Config, config *rest.Config) error
	// Processes to start.
	Processes func(c Config) []process.Process
	// Configure runs once the processes are healthy.
	Configure func(ctx context.Context, c Config, config *rest.Config) error
	// Ready waits until gangs can be scheduled. died returns an error as soon as waiting is useless.
	Ready func(ctx context.Context, config *rest.Config, died func() error) error
}
