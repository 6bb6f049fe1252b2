package servers

import (
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
)

// schedulerConfiguration is the configuration that ships in the folder of every scheduler but Kueue.
const schedulerConfiguration = "scheduler.yaml"

// WriteSchedulerConfiguration makes the configuration file of kube-scheduler, which runs in every cluster.
func (c Config) WriteSchedulerConfiguration() error {
	return c.completeSchedulerConfiguration(SchedulerNative, components.Kubernetes,
		c.Files.SchedulerConfiguration())
}

// completeSchedulerConfiguration writes the configuration of a kind of kube-scheduler with the path of the
// kubeconfig in it: a kube-scheduler that is given a file ignores the flag for the path.
func (c Config) completeSchedulerConfiguration(scheduler, module, to string) error {
	from := c.configuration(scheduler, module, schedulerConfiguration)
	content, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("reading the scheduler's configuration: %w", err)
	}
	configuration := map[string]any{}
	if err := yaml.Unmarshal(content, &configuration); err != nil {
		return fmt.Errorf("reading %s: %w", from, err)
	}
	err = unstructured.SetNestedField(configuration, c.Files.Kubeconfig(), "clientConnection", "kubeconfig")
	if err != nil {
		return fmt.Errorf("completing %s: %w", from, err)
	}
	if content, err = yaml.Marshal(configuration); err != nil {
		return fmt.Errorf("completing %s: %w", from, err)
	}
	if err := os.WriteFile(to, content, 0o600); err != nil {
		return fmt.Errorf("writing the scheduler's configuration: %w", err)
	}
	return nil
}
