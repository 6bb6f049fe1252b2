package servers

import (
	"context"
	"fmt"
	"strconv"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/objects"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// ProcessTrainingOperator is the process of Kubeflow's training operator.
const ProcessTrainingOperator = "training-operator"

// portTrainingOperatorWebhook is the port of its webhooks.
const portTrainingOperatorWebhook = "training-operator-webhook"

// trainingOperator adds Kubeflow's training operator for PyTorchJobs, with Volcano as their gang scheduler:
// it ends when Volcano's PodGroups are not served. Its webhook validates PyTorchJobs and changes nothing, and
// is left out: a benchmark's are valid, and so each costs one request less than on a cluster of its users.
func trainingOperator() Extension {
	return Extension{
		Components: []string{components.TrainingOperator},
		Ports:      []string{ProcessTrainingOperator, portTrainingOperatorWebhook},
		Prepare: func(ctx context.Context, c Config, config *rest.Config) error {
			if err := c.copyCertificate(c.Files.TrainingOperatorCertificates()); err != nil {
				return fmt.Errorf("copying the training operator's certificate: %w", err)
			}
			if err := createTrainingOperatorObjects(ctx, config); err != nil {
				return err
			}
			return objects.InstallCRDs(ctx, config, c.Binaries.Path(components.TrainingOperator, components.CRDFolder))
		},
		Processes: func(c Config) []process.Process { return []process.Process{c.trainingOperator()} },
	}
}

func (c Config) trainingOperator() process.Process {
	port, webhooks := c.Ports[ProcessTrainingOperator], c.Ports[portTrainingOperatorWebhook]
	args := []string{
		"--kubeconfig=" + c.Files.Kubeconfig(),
		"--gang-scheduler-name=volcano",
		"--enable-scheme=pytorchjob",
		"--health-probe-bind-address=" + layout.LocalAddress(port),
		"--metrics-bind-address=0",
		"--webhook-server-port=" + strconv.Itoa(webhooks),
	}
	return process.Process{
		Name: ProcessTrainingOperator,
		Path: c.Binaries.Path(components.TrainingOperator, ProcessTrainingOperator),
		Args: append(args, c.limitArgs(ProcessTrainingOperator, Limits{})...),
		// Below it is the certificate: see sourceEdits in package components.
		Env:    []string{"TMPDIR=" + c.Files.TrainingOperator()},
		Log:    c.Files.Log(ProcessTrainingOperator),
		Ports:  []int{port, webhooks},
		Health: "http://" + layout.LocalAddress(port) + "/readyz",
	}
}

// createTrainingOperatorObjects creates what its manager of certificates waits for: the secret that it fills,
// and the configuration of webhooks into which it writes its authority (pkg/cert/cert.go of v1.9).
func createTrainingOperatorObjects(ctx context.Context, config *rest.Config) error {
	const namespace = "kubeflow"
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	in := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := clients.CoreV1().Namespaces().Create(ctx, in, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the training operator's namespace: %w", err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "training-operator-webhook-cert"}}
	if _, err := clients.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the training operator's secret: %w", err)
	}
	none := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "validator.training-operator.kubeflow.org"},
	}
	_, err = clients.AdmissionregistrationV1().ValidatingWebhookConfigurations().
		Create(ctx, none, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating the training operator's webhooks: %w", err)
	}
	return nil
}
