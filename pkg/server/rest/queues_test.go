package rest

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/queues"
)

// TestQueues: everybody sees the queues that they may list, with the jobs that they may list.
func TestQueues(t *testing.T) {
	in := func(queue string) func(*v1alpha1.TrainingJob) {
		return func(job *v1alpha1.TrainingJob) {
			job.Status = v1alpha1.TrainingJobStatus{Phase: v1alpha1.PhaseQueued, GPUs: 8,
				Scheduling: &v1alpha1.SchedulingStatus{Scheduler: v1alpha1.SchedulerVolcano, Queue: queue}}
		}
	}
	s := newServer(t, newJob("team-a", "a1", in("research")), newJob("team-b", "b1", in("research")))
	scheme := runtime.NewScheme()
	if err := queues.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	quota := func(namespace string) *corev1.ResourceQuota {
		return &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gpus"},
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
				"requests.nvidia.com/gpu": resource.MustParse("4"),
			}},
		}
	}
	s.access.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&volcanov1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "research"}}, quota("team-a"), quota("team-b"),
	).WithInterceptorFuncs(interceptor.Funcs{List: func(
		ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption,
	) error {
		var o client.ListOptions
		namespace := o.ApplyOptions(opts).Namespace
		switch l.(type) {
		case *kueuev1beta2.ClusterQueueList, *kueuev1beta2.LocalQueueList, *kueuev1beta2.WorkloadPriorityClassList:
			return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "kueue.x-k8s.io"}}
		case *volcanov1beta1.QueueList:
			if nameOf(ctx) != "eve" {
				return c.List(ctx, l, opts...)
			}
		case *corev1.ResourceQuotaList:
			if s.access.may(ctx, namespace) {
				return c.List(ctx, l, opts...)
			}
		default:
			return c.List(ctx, l, opts...)
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: "queues"}, "", errors.New("no"))
	}}).Build()
	for name, c := range map[string]struct {
		user, query string
		queues      []string // with their jobs
		unreadable  []string
	}{
		"all": {"ann", "", []string{"/gpus team-a", "/gpus team-b",
			"volcano/research a1 b1"}, nil},
		"one's own, namespace by namespace": {"bob", "", []string{"/gpus team-a", "volcano/research a1"}, nil},
		"of one namespace": {"ann", "?namespace=team-b", []string{"/gpus team-b",
			"volcano/research a1 b1"}, nil},
		"none": {"eve", "", nil, []string{"Queue", "ResourceQuota"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got queues.List
			s.do(request{path: "queues" + c.query, user: c.user}).decode(t, http.StatusOK, &got)
			var reported, unreadable []string
			for _, q := range got.Items {
				text := string(q.Scheduler) + "/" + q.Name
				if q.Namespace != "" {
					text += " " + q.Namespace
				}
				for _, job := range q.Waiting {
					if q.Namespace == "" {
						text += " " + job.Name
					}
				}
				reported = append(reported, text)
			}
			for _, u := range got.Unreadable {
				if unreadable = append(unreadable, u.Kind); u.Detail == "" || u.Remedy == "" {
					t.Errorf("%+v", u)
				}
			}
			if diff := cmp.Diff(c.queues, reported); diff != "" {
				t.Errorf("queues (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.unreadable, unreadable); diff != "" {
				t.Errorf("unreadable (-want +got):\n%s", diff)
			}
		})
	}
}
