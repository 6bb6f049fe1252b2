package apiserver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// What is written in one format is read in the other.
func TestFormats(t *testing.T) {
	f := newFixture(t)
	created := f.createPod(pod("a-0", "a"))
	json, err := kubernetes.NewForConfig(f.config)
	f.must(err)
	read, err := json.CoreV1().Pods(namespace).Get(t.Context(), "a-0", metav1.GetOptions{})
	f.must(err)
	if diff := cmp.Diff(created, read); diff != "" {
		t.Errorf("a pod as protobuf and as JSON (-protobuf +JSON):\n%s", diff)
	}
	all, err := f.typed.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	f.must(err)
	other, err := json.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	f.must(err)
	if diff := cmp.Diff(all.Items, other.Items); diff != "" || len(all.Items) != 1 {
		t.Errorf("a list as protobuf and as JSON (-protobuf +JSON):\n%s", diff)
	}
	job := f.createJob("bert")
	back := &v1alpha1.TrainingJob{}
	f.must(f.mixed.Get(t.Context(), client.ObjectKeyFromObject(job), back))
	if diff := cmp.Diff(job, back); diff != "" {
		t.Errorf("a job (-created +read):\n%s", diff)
	}
	f.understood()
}

// The server adds to an object what a real one adds.
func TestCreate(t *testing.T) {
	f := newFixture(t)
	_, err := f.typed.SchedulingV1().PriorityClasses().Create(t.Context(), &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 7,
	}, metav1.CreateOptions{})
	f.must(err)
	given := pod("", "a")
	given.GenerateName, given.Spec.PriorityClassName = "a-", "high"
	p := f.createPod(given)
	if !strings.HasPrefix(p.Name, "a-") || len(p.Name) <= len("a-") || p.UID == "" || p.ResourceVersion == "" ||
		p.CreationTimestamp.IsZero() || p.Generation != 1 || len(p.ManagedFields) != 1 ||
		p.Status.Phase != corev1.PodPending || *p.Spec.Priority != 7 ||
		*p.Spec.TerminationGracePeriodSeconds != 30 {
		t.Errorf("created was %+v", p)
	}
	pods := f.typed.CoreV1().Pods(namespace)
	_, err = pods.Create(t.Context(), pod(p.Name, "a"), metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second pod of the name: %v", err)
	}
	unknown := pod("b", "b")
	unknown.Spec.PriorityClassName = "none"
	if _, err := pods.Create(t.Context(), unknown, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a pod of a class that is not there: %v", err)
	}
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "bert", Namespace: namespace}}
	job.Status.Phase = v1alpha1.PhaseRunning
	f.must(f.mixed.Create(t.Context(), job))
	if job.Status.Phase != "" {
		t.Errorf("a job was created with the status %q", job.Status.Phase)
	}
}

// A patch of the status changes the status alone, and one of the object all but that.
func TestMergePatch(t *testing.T) {
	f := newFixture(t)
	job := f.createJob("bert")
	status := fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"labels":{"a":"b"}},"spec":{"image":"other"},
		"status":{"phase":"Queued","message":"waits"}}`, job.ResourceVersion)
	f.must(f.mixed.Status().Patch(t.Context(), job, client.RawPatch(types.MergePatchType, []byte(status))))
	if job.Status.Phase != v1alpha1.PhaseQueued || job.Spec.Image != "trainer" || job.Labels != nil ||
		job.Generation != 1 {
		t.Errorf("a patch of the status made %+v", job)
	}
	changed := `{"spec":{"image":"other"},"status":{"phase":"Running"}}`
	f.must(f.mixed.Patch(t.Context(), job, client.RawPatch(types.MergePatchType, []byte(changed))))
	if job.Status.Phase != v1alpha1.PhaseQueued || job.Spec.Image != "other" || job.Generation != 2 {
		t.Errorf("a patch of the object made %+v", job)
	}
	version := job.ResourceVersion
	f.must(f.mixed.Patch(t.Context(), job, client.RawPatch(types.MergePatchType, []byte(changed))))
	if job.ResourceVersion != version {
		t.Error("a patch that changes nothing makes a new version")
	}
	f.must(f.mixed.Status().Patch(t.Context(), job,
		client.RawPatch(types.MergePatchType, []byte(`{"status":{"message":null}}`))))
	if job.Status.Message != "" || job.Status.Phase != v1alpha1.PhaseQueued {
		t.Errorf("null left the status %+v", job.Status)
	}
	f.understood()
}

// Who names a version or a UID that is not there any more changes nothing.
func TestPreconditions(t *testing.T) {
	f := newFixture(t)
	old := f.createJob("bert")
	job := old.DeepCopy()
	job.Spec.Image = "other"
	f.must(f.mixed.Update(t.Context(), job))
	patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"status":{"phase":"Queued"}}`, old.ResourceVersion)
	another := types.UID("another")
	for what, err := range map[string]error{
		"update": f.mixed.Update(t.Context(), old.DeepCopy()),
		"patch": f.mixed.Status().Patch(t.Context(), old.DeepCopy(),
			client.RawPatch(types.MergePatchType, []byte(patch))),
		"patch by UID": f.mixed.Patch(t.Context(), old.DeepCopy(),
			client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"uid":"another"}}`))),
		"deletion": f.mixed.Delete(t.Context(), old.DeepCopy(), client.Preconditions{UID: &another}),
		"deletion by version": f.mixed.Delete(t.Context(), old.DeepCopy(),
			client.Preconditions{ResourceVersion: &old.ResourceVersion}),
	} {
		if !apierrors.IsConflict(err) {
			t.Errorf("%s of an old version: %v", what, err)
		}
	}
	f.must(f.mixed.Delete(t.Context(), job, client.Preconditions{UID: &job.UID}))
	if err := f.mixed.Get(t.Context(), client.ObjectKeyFromObject(job), job); !apierrors.IsNotFound(err) {
		t.Errorf("a job that was deleted: %v", err)
	}
	f.understood()
}

// A pod that has a node is marked until its kubelet has ended it; one without goes at once.
func TestPodsEnd(t *testing.T) {
	f := newFixture(t)
	f.createPod(pod("waits", "a"))
	bound := pod("runs", "a")
	bound.Spec.NodeName = "node-0"
	bound = f.createPod(bound)
	pods := f.typed.CoreV1().Pods(namespace)
	for _, name := range []string{"waits", "runs"} {
		uid := metav1.NewUIDPreconditions(string(podUID(f, name)))
		f.must(pods.Delete(t.Context(), name, metav1.DeleteOptions{Preconditions: uid}))
	}
	if _, err := pods.Get(t.Context(), "waits", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a pod without a node: %v", err)
	}
	p, err := pods.Get(t.Context(), "runs", metav1.GetOptions{})
	f.must(err)
	if p.DeletionTimestamp == nil || *p.DeletionGracePeriodSeconds != 30 || p.UID != bound.UID {
		t.Errorf("a pod with a node, after its deletion: %+v", p.ObjectMeta)
	}
	f.must(pods.Delete(t.Context(), "runs", metav1.DeleteOptions{}))
	again, err := pods.Get(t.Context(), "runs", metav1.GetOptions{})
	f.must(err)
	if again.ResourceVersion != p.ResourceVersion {
		t.Errorf("deleted again it changed: %v", again)
	}
	f.must(pods.Delete(t.Context(), "runs", *metav1.NewDeleteOptions(0)))
	if _, err := pods.Get(t.Context(), "runs", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after its kubelet is done: %v", err)
	}
	f.understood()
}

func podUID(f *fixture, name string) types.UID {
	f.Helper()
	p, err := f.typed.CoreV1().Pods(namespace).Get(f.Context(), name, metav1.GetOptions{})
	f.must(err)
	return p.UID
}

// Finalizers keep an object that is deleted.
func TestFinalizers(t *testing.T) {
	f := newFixture(t)
	job := f.createJob("bert")
	job.Finalizers = []string{"example.com/kept"}
	f.must(f.mixed.Update(t.Context(), job))
	f.must(f.mixed.Delete(t.Context(), job.DeepCopy()))
	f.must(f.mixed.Get(t.Context(), client.ObjectKeyFromObject(job), job))
	if job.DeletionTimestamp == nil {
		t.Error("it was not marked")
	}
	job.Finalizers = nil
	f.must(f.mixed.Update(t.Context(), job))
	if err := f.mixed.Get(t.Context(), client.ObjectKeyFromObject(job), job); !apierrors.IsNotFound(err) {
		t.Errorf("without its finalizer: %v", err)
	}
}

// What is applied belongs to who applied it: what he leaves out the next time goes, what others wrote stays.
func TestApply(t *testing.T) {
	f := newFixture(t)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "bert", Namespace: namespace},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	slice.Labels = map[string]string{"of": "another"}
	f.must(f.mixed.Create(t.Context(), slice, client.FieldOwner("another")))
	apply := func(text string) {
		_, err := f.typed.DiscoveryV1().EndpointSlices(namespace).Patch(t.Context(), "bert", types.ApplyPatchType,
			[]byte(text), metav1.PatchOptions{FieldManager: "we", Force: new(true)})
		f.must(err)
		f.must(f.mixed.Get(t.Context(), client.ObjectKeyFromObject(slice), slice))
	}
	const header = `{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"bert"`
	apply(header + `,"labels":{"a":"1","b":"2"}}}`)
	if diff := cmp.Diff(map[string]string{"of": "another", "a": "1", "b": "2"}, slice.Labels); diff != "" {
		t.Errorf("labels after the first apply (-want +got):\n%s", diff)
	}
	apply(header + `,"labels":{"a":"1"}}}`)
	if diff := cmp.Diff(map[string]string{"of": "another", "a": "1"}, slice.Labels); diff != "" {
		t.Errorf("labels after the second apply (-want +got):\n%s", diff)
	}
	f.understood()
}

// What the server does not know it refuses, and does not forget.
func TestUnknown(t *testing.T) {
	for what, ask := range map[string]func(*fixture) error{
		"kind": func(f *fixture) error {
			_, err := f.typed.AppsV1().Deployments(namespace).List(f.Context(), metav1.ListOptions{})
			return err
		},
		"subresource": func(f *fixture) error {
			_, err := f.typed.CoreV1().Pods(namespace).GetLogs("a", &corev1.PodLogOptions{}).DoRaw(f.Context())
			return err
		},
		"deletion of all": func(f *fixture) error {
			return f.typed.CoreV1().Pods(namespace).DeleteCollection(f.Context(), metav1.DeleteOptions{},
				metav1.ListOptions{})
		},
	} {
		f := newFixture(t)
		if err := ask(f); err == nil || f.server.Err() == nil {
			t.Errorf("%s: %v, and it was not noted", what, err)
		}
	}
}

// Writes have a line each in the audit log; reads and leases have none.
func TestAudit(t *testing.T) {
	f := newFixture(t)
	var log strings.Builder
	f.server.audit.to = &log
	f.createPod(pod("a-0", "a"))
	podUID(f, "a-0")
	f.must(f.typed.CoreV1().Pods(namespace).Delete(t.Context(), "a-0", metav1.DeleteOptions{}))
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"verb":"create"`) ||
		!strings.Contains(lines[1], `"userAgent":"test/`) {
		t.Errorf("the log has %q", lines)
	}
}
