//go:build cluster

package quotas

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/test/api/apitest"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const kueueSystem = "kueue-system"

// fleet is a cluster to which users submit and one that runs their jobs, each with a Kueue and an operator.
type fleet struct{ manager, worker team }

// TestMultiKueue: jobs that are created on the manager run on the worker. The manager has no nodes.
func TestMultiKueue(t *testing.T) {
	f := newFleet(t)
	f.runsOnTheWorker()
	f.isEvictedAndDispatchedAgain()
	f.succeeds("bert")
	f.suspends()
	f.isDeletedOnTheManager("again")
	f.wroteNoStatus()
	prebuiltWorkloads(f.worker)
	gatedRanks(f.worker)
}

func newFleet(t *testing.T) fleet {
	t.Helper()
	m, w := get(t, startManagerCluster), get(t, startWorkerCluster)
	f := fleet{newTeam(t, m, onKueue, "team-a"), newTeam(t, w, onKueue, "team-a")}
	for _, p := range []team{f.manager, f.worker} {
		p.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: kueueSystem}})
	}
	deploy(t, m, "kueue.yaml")
	deploy(t, m, "multikueue_manager.yaml")
	f.manager.kueueMayMirror()
	deploy(t, w, "multikueue_worker.yaml")
	apply(t, w, "kueue/multikueue-worker.yaml", "kueue/priorities.yaml")
	f.worker.active("gpus")
	f.manager.Create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "worker-1", Namespace: kueueSystem},
		Data:       map[string][]byte{"kubeconfig": f.worker.kubeconfig()},
	})
	apply(t, m, "kueue/multikueue-manager.yaml")
	f.manager.Until("the worker is connected", func(ctx context.Context) (string, error) {
		c := &kueuev1beta2.MultiKueueCluster{}
		c.Name = "worker-1"
		if err := f.manager.Client.Get(ctx, keyOf(c), c); err != nil {
			return "", err
		}
		if !meta.IsStatusConditionTrue(c.Status.Conditions, kueuev1beta2.MultiKueueClusterActive) {
			return fmt.Sprintf("%+v", c.Status.Conditions), nil
		}
		return "", nil
	})
	f.manager.active("fleet")
	return f
}

// deploy applies a file of deploy/operator unchanged.
func deploy(t *testing.T, w *harness.Cluster, file string) {
	t.Helper()
	objects, err := apitest.Read(filepath.Join(root, "deploy/operator", file))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if err := w.Client.Create(t.Context(), o.Unstructured); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

// kueueMayMirror checks the rights of the files, since the lab's Kueue is an administrator.
func (p team) kueueMayMirror() {
	p.T.Helper()
	for _, right := range []authorizationv1.ResourceAttributes{
		{Verb: "get", Resource: "trainingjobs"}, {Verb: "watch", Resource: "trainingjobs"},
		{Verb: "patch", Resource: "trainingjobs", Subresource: "status"},
	} {
		right.Group, right.Namespace = v1alpha1.GroupVersion.Group, p.Name
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + kueueSystem + ":kueue-controller-manager", ResourceAttributes: &right,
		}}
		p.Until(fmt.Sprintf("Kueue may %s %s/%s", right.Verb, right.Resource, right.Subresource),
			func(ctx context.Context) (string, error) {
				review.Status = authorizationv1.SubjectAccessReviewStatus{}
				err := p.Client.Create(ctx, review)
				if err == nil && !review.Status.Allowed {
					return "it may not", nil
				}
				return "", err
			})
	}
}

// kubeconfig of the service account that deploy/operator/multikueue_worker.yaml gives rights to.
func (p team) kubeconfig() []byte {
	p.T.Helper()
	token, err := p.Kube.CoreV1().ServiceAccounts(kueueSystem).CreateToken(p.T.Context(), "multikueue",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		p.T.Fatal(err)
	}
	rest := p.RESTConfig()
	authority := rest.CAData
	if len(authority) == 0 {
		if authority, err = os.ReadFile(rest.CAFile); err != nil {
			p.T.Fatal(err)
		}
	}
	const name = "worker"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: rest.Host, CertificateAuthorityData: authority}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	content, err := clientcmd.Write(*config)
	if err != nil {
		p.T.Fatal(err)
	}
	return content
}

func (f fleet) runsOnTheWorker() {
	t := f.manager.T
	apply(t, f.manager.Cluster, "kueue/multikueue-job.yaml")
	f.worker.runs("bert", 1)
	f.manager.runs("bert", 1) // as the worker says
	if n := len(f.manager.pods("bert")); n > 0 {
		t.Errorf("the manager has %d pods", n)
	}
	if n := len(f.worker.pods("bert")); n != 2 {
		t.Errorf("the worker has %d pods, want 2", n)
	}
	admins := corev1.Toleration{Key: adminsTaint, Value: "worker", Operator: corev1.TolerationOpEqual}
	for _, pod := range f.worker.pods("bert") {
		if !slices.Contains(pod.Spec.Tolerations, admins) {
			t.Errorf("%s tolerates %v, not what the worker's admin has configured", pod.Name, pod.Spec.Tolerations)
		}
	}
	local, remote := f.manager.workloadOf("bert"), f.worker.workloadOf("bert")
	if local.Name != remote.Name || !metav1.IsControlledBy(remote, f.worker.existing("bert")) {
		t.Errorf("the worker's job has Workload %s, owned by %v; want the manager's %s", remote.Name,
			remote.OwnerReferences, local.Name)
	}
	services := &corev1.ServiceList{}
	if err := f.manager.Client.List(t.Context(), services, client.InNamespace(f.manager.Name)); err != nil {
		t.Fatal(err)
	}
	if len(services.Items) > 0 {
		t.Errorf("the manager has Services: %v", services.Items)
	}
}

// isEvictedAndDispatchedAgain checks that MultiKueue dispatches a job again after a job of higher priority
// took the quota on the worker and was deleted.
func (f fleet) isEvictedAndDispatchedAgain() {
	first := f.worker.existing("bert").UID
	f.worker.submit("urgent", 1, "8", queued("fleet"), ofClass("production"))
	f.worker.runs("urgent", 1)
	f.worker.Until("bert's ranks have ended", func(context.Context) (string, error) {
		if n := len(f.worker.pods("bert")); n > 0 {
			return fmt.Sprintf("%d pods", n), nil
		}
		return "", nil
	})
	f.manager.Until("bert waits for a cluster", func(ctx context.Context) (string, error) {
		wl := f.manager.workloadOf("bert")
		if meta.IsStatusConditionTrue(wl.Status.Conditions, kueuev1beta2.WorkloadAdmitted) {
			return fmt.Sprintf("%+v", wl.Status.AdmissionChecks), nil
		}
		return "", nil
	})
	f.worker.remove("urgent")
	f.worker.Until("bert is dispatched again", func(ctx context.Context) (string, error) {
		j, err := f.worker.Get(ctx, "bert")
		if apierrors.IsNotFound(err) || err == nil && (j.UID == first || j.Status.ReadyReplicas != 2) {
			return fmt.Sprintf("%s %s", j.UID, j.Status.Message), nil
		}
		return "", err
	})
	f.manager.Reaches("bert", v1alpha1.PhaseRunning)
}

func (f fleet) succeeds(name string) {
	for _, pod := range f.worker.pods(name) {
		f.worker.MergePatch(&pod,
			fmt.Sprintf(`{"metadata":{"annotations":{%q:"0"}}}`, localcluster.AnnotationRunSeconds))
	}
	f.manager.Reaches(name, v1alpha1.PhaseSucceeded)
	f.goneFromTheWorker(name)
	f.manager.Until("its Workload has finished", func(ctx context.Context) (string, error) {
		wl := f.manager.workloadOf(name)
		c := meta.FindStatusCondition(wl.Status.Conditions, kueuev1beta2.WorkloadFinished)
		if c == nil || c.Reason != kueuev1beta2.WorkloadFinishedReasonSucceeded {
			return fmt.Sprintf("%+v", wl.Status.Conditions), nil
		}
		return "", nil
	})
	f.manager.remove(name)
}

func (f fleet) suspends() {
	f.manager.submit("again", 2, "1", queued("fleet"), dispatched)
	f.worker.runs("again", 1)
	f.manager.runs("again", 1)
	f.manager.MergePatch(f.manager.existing("again"), `{"spec":{"runPolicy":{"suspend":true}}}`)
	f.goneFromTheWorker("again")
	f.manager.MergePatch(f.manager.existing("again"),
		`{"spec":{"image":"example.com/trainer:2","runPolicy":{"suspend":false}}}`)
	f.worker.runs("again", 1)
	f.manager.runs("again", 1)
}

func (f fleet) isDeletedOnTheManager(name string) {
	f.manager.remove(name)
	f.goneFromTheWorker(name)
	f.manager.Until("its Workload is gone", func(ctx context.Context) (string, error) {
		list := &kueuev1beta2.WorkloadList{}
		err := f.manager.Client.List(ctx, list, client.InNamespace(f.manager.Name))
		if len(list.Items) > 0 {
			return list.Items[0].Name, err
		}
		return "", err
	})
}

func (f fleet) goneFromTheWorker(name string) {
	f.worker.T.Helper()
	f.worker.Until(name+" is gone from the worker", func(ctx context.Context) (string, error) {
		if n := len(f.worker.pods(name)); n > 0 {
			return fmt.Sprintf("%d pods", n), nil
		}
		j, err := f.worker.Get(ctx, name)
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return j.Status.Message + " is there", err
	})
}

// wroteNoStatus: the status on the manager is Kueue's to write.
func (f fleet) wroteNoStatus() {
	for _, w := range f.manager.Operator.Written(f.manager.Name) {
		if !strings.Contains(w, "/workloads") {
			f.manager.T.Errorf("the manager's operator wrote %s", w)
		}
	}
}

func dispatched(j *v1alpha1.TrainingJob) { j.Spec.ManagedBy = v1alpha1.ManagedByMultiKueue }

// existing returns a job that must exist.
func (p team) existing(name string) *v1alpha1.TrainingJob {
	p.T.Helper()
	j, err := p.Get(p.T.Context(), name)
	if err != nil {
		p.T.Fatal(err)
	}
	return j
}

// prebuiltWorkloads: what a job says of a Workload that it names and cannot have.
func prebuiltWorkloads(p team) {
	prebuilt := func(name string) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			metav1.SetMetaDataAnnotation(&j.ObjectMeta, kueue.PrebuiltWorkload, name)
		}
	}
	p.submit("early", 2, "1", queued("fleet"), prebuilt("made-for-early"))
	p.waits("early", kueue.ReasonPrebuiltNotFound)
	p.submit("thief", 2, "1", queued("fleet"), prebuilt("made-for-early"))

	p.submit("own", 2, "1", queued("fleet"))
	p.runs("own", 1)
	own := p.workloadOf("own")
	made := func(name string, count int32) {
		wl := &kueuev1beta2.Workload{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.Name}}
		own.Spec.DeepCopyInto(&wl.Spec)
		wl.Spec.PodSets[0].Count = count
		p.Create(wl)
	}
	p.submit("late", 2, "1", queued("fleet"), prebuilt(own.Name))
	p.waits("late", kueue.ReasonPrebuiltTaken)

	p.remove("thief")
	made("made-for-early", 2)
	p.runs("early", 1)

	made("made-for-another", 3)
	p.submit("other", 2, "1", queued("fleet"), prebuilt("made-for-another"))
	p.waits("other", kueue.ReasonOutOfSync)
	p.Until("the Workload has finished out of sync", func(ctx context.Context) (string, error) {
		wl := &kueuev1beta2.Workload{}
		err := p.Client.Get(ctx, types.NamespacedName{Namespace: p.Name, Name: "made-for-another"}, wl)
		c := meta.FindStatusCondition(wl.Status.Conditions, kueuev1beta2.WorkloadFinished)
		if c == nil || c.Reason != kueuev1beta2.WorkloadFinishedReasonOutOfSync {
			return fmt.Sprintf("%+v", wl.Status.Conditions), err
		}
		return "", err
	})
}

// gatedRanks: where the namespace has a LocalQueue default, Kueue takes the ranks of a job that keeps out of
// Kueue for jobs of their own. The job says what holds them.
func gatedRanks(p team) {
	queue := &kueuev1beta2.LocalQueue{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: p.Name}}
	queue.Spec.ClusterQueue = "nowhere"
	p.Create(queue)
	p.Until("Kueue knows the queue", func(ctx context.Context) (string, error) {
		if err := p.Client.Get(ctx, keyOf(queue), queue); err != nil {
			return "", err
		}
		if len(queue.Status.Conditions) == 0 {
			return "no conditions yet", nil
		}
		return "", nil
	})
	onNative := func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.Scheduler = v1alpha1.SchedulerNative
	}
	p.submit("outsider", 2, "1", onNative)
	b := p.waits("outsider", v1alpha1.ReasonSchedulingGated)
	if !strings.Contains(b.Message, "kueue.x-k8s.io/") {
		p.T.Errorf("it does not name the gate: %s", b.Message)
	}
}
