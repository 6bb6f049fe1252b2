package stack

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/bench/measure"
	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// ours is the TrainingJob operator on one scheduler.
type ours struct{ dialect }

// Ours runs gangs as TrainingJobs on one of localcluster's schedulers.
func Ours(scheduler string) Stack { return ours{dialectOf(scheduler)} }

func (o ours) Describe() result.Stack {
	return result.Stack{
		Name: "ours/" + o.scheduler, Title: "TrainingJob on " + o.title, Floor: "raw/" + o.scheduler, Ours: true,
		Settings: []result.Setting{
			{Program: "operator", Name: "client limit", Value: "none", Stock: true},
		},
	}
}

func (o ours) Start(ctx context.Context, e Environment) (Session, error) {
	op, err := startOperator(ctx, e.Operator, e.Cluster.Kubeconfig(), o.scheduler, e.Dir)
	if err != nil {
		return nil, err
	}
	c, err := newClient(e, "bench")
	if err != nil {
		return nil, err
	}
	return &oursSession{dialect: o.dialect, Environment: e, client: c, operator: op}, nil
}

type oursSession struct {
	dialect
	Environment
	client   client.Client
	operator *operator
}

// newClient knows every kind that the stacks write themselves.
func newClient(e Environment, agent string) (client.Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering kinds: %w", err)
		}
	}
	c, err := client.New(e.config(agent), client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return c, nil
}

func (s *oursSession) Prepare(ctx context.Context, namespace string, w workload.Workload) error {
	return s.prepare(ctx, s.Environment, namespace, w)
}

func (s *oursSession) Submit(ctx context.Context, namespace string, g workload.Gang) error {
	return s.client.Create(ctx, trainingJob(namespace, s.queue, g))
}

func (s *oursSession) Delete(ctx context.Context, namespace string, g workload.Gang) error {
	return client.IgnoreNotFound(s.client.Delete(ctx, &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: g.Name},
	}))
}

func (s *oursSession) Clear(ctx context.Context, namespace string) error {
	return clearNamespace(ctx, s.config("bench"), namespace, v1alpha1.GroupVersion.WithResource("trainingjobs"))
}

func (s *oursSession) Stop() error { return s.operator.stop() }

// trainingJob is what a user would write for a gang.
func trainingJob(namespace, queue string, g workload.Gang) *v1alpha1.TrainingJob {
	ranks := int32(g.Ranks) //nolint:gosec // a workload's gangs have at most some thousand ranks
	return &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: g.Name, Labels: queueLabels(queue)},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkPyTorch,
			ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{v1alpha1.RoleWorker: {
				Replicas: &ranks,
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{measure.LabelGang: g.Name}},
					Spec:       podSpec(g),
				},
			}},
			RunPolicy: v1alpha1.RunPolicy{
				SchedulingPolicy: v1alpha1.SchedulingPolicy{PriorityClass: ClassOf(g.Priority)},
			},
		},
	}
}

// podSpec of a rank, the same on every stack.
func podSpec(g workload.Gang) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{
		Name: "pytorch", Image: "example/train:1", Command: []string{"train"},
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
			GPU: *resource.NewQuantity(int64(g.GPUs), resource.DecimalSI), corev1.ResourceCPU: resource.MustParse("1"),
		}},
	}}}
}
