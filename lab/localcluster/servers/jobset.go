package servers

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/objects"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// ProcessJobSet is the process of JobSet's controller manager.
const ProcessJobSet = "jobset"

// portJobSetWebhook is the port of its webhooks.
const portJobSetWebhook = "jobset-webhook"

// jobSet adds JobSet's controller manager with its webhooks, which write the defaults of JobSets.
func jobSet() Extension {
	return Extension{
		Components: []string{components.JobSet},
		Ports:      []string{ProcessJobSet, portJobSetWebhook},
		Prepare: func(ctx context.Context, c Config, config *rest.Config) error {
			if err := c.writeJobSetFiles(); err != nil {
				return err
			}
			return objects.InstallCRDs(ctx, config, c.Binaries.Path(components.JobSet, components.CRDFolder))
		},
		Processes: func(c Config) []process.Process { return []process.Process{c.jobSet()} },
		Configure: registerJobSetWebhooks,
		Ready:     waitForJobSetWebhooks,
	}
}

func (c Config) jobSet() process.Process {
	port, webhooks := c.Ports[ProcessJobSet], c.Ports[portJobSetWebhook]
	args := []string{
		"--kubeconfig=" + c.Files.Kubeconfig(),
		"--config=" + c.Files.JobSetConfiguration(),
	}
	return process.Process{
		Name:   ProcessJobSet,
		Path:   c.Binaries.Path(components.JobSet, ProcessJobSet),
		Args:   append(args, c.limitArgs(ProcessJobSet, Limits{})...),
		Log:    c.Files.Log(ProcessJobSet),
		Ports:  []int{port, webhooks},
		Health: "http://" + layout.LocalAddress(port) + "/readyz",
	}
}

// writeJobSetFiles writes the configuration with the cluster's ports, and its certificate.
func (c Config) writeJobSetFiles() error {
	if err := c.copyCertificate(c.Files.JobSetCertificates()); err != nil {
		return fmt.Errorf("copying JobSet's certificate: %w", err)
	}
	configuration, err := readTemplate(c.moduleFile("jobset", "configuration.yaml"), map[string]string{
		"HEALTH_ADDRESS": layout.LocalAddress(c.Ports[ProcessJobSet]),
		"WEBHOOK_PORT":   strconv.Itoa(c.Ports[portJobSetWebhook]),
		"WEBHOOK_CERTS":  c.Files.JobSetCertificates(),
	})
	if err != nil {
		return fmt.Errorf("reading JobSet's configuration: %w", err)
	}
	return writeConfiguration(c.Files.JobSetConfiguration(), ProcessJobSet, configuration)
}

// registerJobSetWebhooks registers all of JobSet's webhooks. Those on pods are called for its own pods alone,
// as in its kustomization (config/components/webhook/patches of v0.12.0).
func registerJobSetWebhooks(ctx context.Context, c Config, config *rest.Config) error {
	return c.registerWebhooks(ctx, config, webhooks{
		component: components.JobSet,
		port:      portJobSetWebhook,
		objects: func(of rules) *metav1.LabelSelector {
			if !slices.Contains(groupsOf(of), "") {
				return nil
			}
			return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "jobset.sigs.k8s.io/jobset-name", Operator: metav1.LabelSelectorOpExists},
			}}
		},
	})
}

// waitForJobSetWebhooks waits until a JobSet that is created in a dry run gets its defaults.
func waitForJobSetWebhooks(ctx context.Context, config *rest.Config, died func() error) error {
	api, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	dry := client.NewDryRunClient(api)
	err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if err := died(); err != nil {
			return false, err
		}
		probe := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
			"metadata": map[string]any{"name": "probe", "namespace": metav1.NamespaceDefault},
			"spec":     map[string]any{"replicatedJobs": []any{}},
		}}
		if err := dry.Create(ctx, probe); err != nil {
			return false, nil // the manager's controllers and webhooks start after it is healthy
		}
		_, defaulted, err := unstructured.NestedMap(probe.Object, "spec", "successPolicy")
		return defaulted, err
	})
	if err != nil {
		return fmt.Errorf("waiting for JobSet's webhooks: %w", err)
	}
	return nil
}
