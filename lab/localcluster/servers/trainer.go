package servers

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// ProcessTrainer is the process of Kubeflow Trainer's controller manager.
const ProcessTrainer = "trainer"

// portTrainerWebhook is the port of its webhooks.
const portTrainerWebhook = "trainer-webhook"

// trainer adds Kubeflow Trainer's controller manager with its webhooks. It ends when JobSets are not served,
// and makes no groups where Volcano's are not.
func trainer() Extension {
	return Extension{
		Components: []string{components.Trainer},
		Ports:      []string{ProcessTrainer, portTrainerWebhook},
		Prepare: func(ctx context.Context, c Config, config *rest.Config) error {
			if err := c.writeTrainerFiles(); err != nil {
				return err
			}
			return objects.InstallCRDs(ctx, config, c.Binaries.Path(components.Trainer, components.CRDFolder))
		},
		Processes: func(c Config) []process.Process { return []process.Process{c.trainer()} },
		Configure: func(ctx context.Context, c Config, config *rest.Config) error {
			return c.registerWebhooks(ctx, config,
				webhooks{component: components.Trainer, port: portTrainerWebhook})
		},
		Ready: waitForTrainerWebhooks,
	}
}

func (c Config) trainer() process.Process {
	port, webhooks := c.Ports[ProcessTrainer], c.Ports[portTrainerWebhook]
	return process.Process{
		Name: ProcessTrainer,
		Path: c.Binaries.Path(components.Trainer, ProcessTrainer),
		Args: []string{
			"--kubeconfig=" + c.Files.Kubeconfig(),
			"--config=" + c.Files.TrainerConfiguration(),
		},
		// Below it is the certificate, and no setting says otherwise.
		Env:    []string{"TMPDIR=" + c.Files.Trainer()},
		Log:    c.Files.Log(ProcessTrainer),
		Ports:  []int{port, webhooks},
		Health: "http://" + layout.LocalAddress(port) + "/readyz",
	}
}

// writeTrainerFiles writes the configuration with the cluster's ports and limits, and its certificate.
func (c Config) writeTrainerFiles() error {
	if err := c.copyCertificate(c.Files.TrainerCertificates()); err != nil {
		return fmt.Errorf("copying Trainer's certificate: %w", err)
	}
	file := c.moduleFile("trainer", "configuration.yaml")
	configuration, err := readTemplate(file, map[string]string{
		"HEALTH_ADDRESS": layout.LocalAddress(c.Ports[ProcessTrainer]),
		"WEBHOOK_PORT":   strconv.Itoa(c.Ports[portTrainerWebhook]),
	})
	if err != nil {
		return fmt.Errorf("reading Trainer's configuration: %w", err)
	}
	if err := c.Limits[ProcessTrainer].in(configuration); err != nil {
		return fmt.Errorf("completing %s: %w", file, err)
	}
	return writeConfiguration(c.Files.TrainerConfiguration(), ProcessTrainer, configuration)
}

// waitForTrainerWebhooks waits until the validating webhook refuses a TrainJob whose runtime does not exist,
// which is created in a dry run.
func waitForTrainerWebhooks(ctx context.Context, config *rest.Config, died func() error) error {
	api, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	dry := client.NewDryRunClient(api)
	err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if err := died(); err != nil {
			return false, err
		}
		err := dry.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
			"metadata": map[string]any{"name": "probe", "namespace": metav1.NamespaceDefault},
			"spec":     map[string]any{"runtimeRef": map[string]any{"name": "probe"}},
		}})
		refused := apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
		return refused && strings.Contains(err.Error(), "validator.trainjob"), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for Trainer's webhooks: %w", err)
	}
	return nil
}
