package stack

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/bench/operator"
	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// ours is the TrainingJob operator on one scheduler.
type ours struct{ dialect }

// Ours runs gangs as TrainingJobs on one of localcluster's schedulers.
func Ours(scheduler string) Stack { return ours{dialectOf(scheduler)} }

// Describe implements Renderer.
func (o ours) Describe() result.Stack {
	return result.Stack{
		Name: "ours/" + o.scheduler, Title: "TrainingJob on " + o.title, Floor: "raw/" + o.scheduler, Ours: true,
		Versions: versionsOf(o.components...), Settings: join([]result.Setting{
			{Program: "operator", Name: "client requests per second", Value: "no limit", Stock: true},
			{Program: "operator", Name: "workers", Value: "10", Stock: true},
		}, o.settings),
	}
}

// Cluster implements Renderer.
func (o ours) Cluster(options *localcluster.Options) { o.cluster(options) }

// Queue implements Renderer.
func (o ours) Queue(namespace string, gpus int) []client.Object { return o.queue(namespace, gpus) }

// Render implements Renderer. The full form, because only it has labels for pods.
func (o ours) Render(namespace string, g workload.Gang) []client.Object {
	template := podTemplate(g, "pytorch", "")
	template.Spec.PriorityClassName = "" // the scheduling policy has it, for all ranks
	job := &v1alpha1.TrainingJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "TrainingJob"},
		ObjectMeta: metav1.ObjectMeta{Name: g.Name, Namespace: namespace},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkPyTorch,
			ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{v1alpha1.RoleWorker: {
				Replicas: new(int32(g.Ranks)), Template: template,
			}},
			RunPolicy: v1alpha1.RunPolicy{
				SchedulingPolicy: v1alpha1.SchedulingPolicy{PriorityClass: PriorityClass(g.Priority)},
			},
		},
	}
	if o.scheduler == localcluster.SchedulerKueue {
		job.Labels = map[string]string{labelQueue: queueName}
	}
	return []client.Object{job}
}

// Rank implements Renderer.
func (o ours) Rank(pod *corev1.Pod) (int, error) {
	return rankLabel(pod, v1alpha1.LabelKubeflowReplicaIndex)
}

func (o ours) Start(ctx context.Context, e Environment) (Session, error) {
	op, err := startOperator(ctx, e, o.scheduler)
	if err != nil {
		return nil, err
	}
	session, err := newObjects(o, e.config("bench"))
	if err != nil {
		return nil, errors.Join(err, op.Stop())
	}
	return oursSession{session, op}, nil
}

// oursSession ends the operator with it.
type oursSession struct {
	*objects
	operator *operator.Process
}

func (s oursSession) Stop() error { return s.operator.Stop() }

// startOperator starts the TrainingJob operator of an environment.
func startOperator(ctx context.Context, e Environment, scheduler string) (*operator.Process, error) {
	return operator.Start(ctx, operator.Options{
		Binary: e.Operator, Kubeconfig: e.Cluster.Kubeconfig(), Scheduler: scheduler, Dir: e.Dir, Name: "operator",
	})
}
