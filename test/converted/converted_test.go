//go:build cluster

package converted

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/convert"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
	"mlplatform.example.com/trainingjob-operator/test/api/apitest"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// documents of other systems, which pkg/convert has golden files for.
const documents = "../../pkg/convert/testdata/*/*.in.*"

// Not submitted are the public manifests and scripts of these systems: most ask for other clusters, such as
// Kueue's queues or 64 nodes. TestResultsPassTheAPIServer of pkg/convert creates them in dry runs.
var public = []string{"job", "jobset", "slurm", "trainjob"}

// TestConvertedJobsSucceed submits every document as converted.
func TestConvertedJobsSucceed(t *testing.T) {
	paths, err := filepath.Glob(documents)
	paths = slices.DeleteFunc(paths, func(path string) bool {
		return slices.Contains(public, filepath.Base(filepath.Dir(path)))
	})
	if err != nil || len(paths) < 20 {
		t.Fatalf("only %d documents: %v", len(paths), err)
	}
	cluster := start(t)
	for _, path := range paths {
		name := strings.NewReplacer("/", "-", ".", "-").Replace(
			strings.SplitN(strings.TrimPrefix(path, "../../pkg/convert/testdata/"), ".in.", 2)[0])
		t.Run(name, func(t *testing.T) {
			n := cluster.Namespace(t, "", name)
			for _, object := range converted(t, path, name) {
				submit(n, object)
			}
		})
	}
}

// start a cluster whose nodes suit every document, and which serves PodMonitors.
func start(t *testing.T) *harness.Cluster {
	t.Helper()
	cluster, err := harness.Start(t.Context(), harness.Options{
		Root: "../..", Schedulers: []string{localcluster.SchedulerVolcano, localcluster.SchedulerNative}, Nodes: 10,
		Backends:    []scheduler.Backend{volcano.New(volcano.DefaultOptions()), native.New(native.Options{})},
		AddToScheme: []func(*runtime.Scheme) error{volcanov1beta1.AddToScheme},
		AgentImage:  "registry.example.com/agent:1",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	crds, err := apitest.Read("testdata/podmonitors.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		if err := cluster.Client.Create(t.Context(), crd.Unstructured); err != nil {
			t.Fatal(err)
		}
	}
	nodes := &corev1.NodeList{}
	if err := cluster.Client.List(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes.Items {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"node-type":"gpu-large"}}}`))
		if err := cluster.Client.Patch(t.Context(), &node, patch); err != nil {
			t.Fatal(err)
		}
	}
	return cluster
}

// converted are the objects that the documents of a file become in a namespace.
func converted(t *testing.T, path, namespace string) []client.Object {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := convert.Split(data)
	if err != nil {
		t.Fatal(err)
	}
	var all []client.Object
	for _, doc := range docs {
		result, err := convert.Convert(doc, convert.Options{Namespace: namespace})
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		for _, o := range result.Objects {
			object := o.(client.Object)
			object.SetNamespace(namespace)
			all = append(all, object)
		}
	}
	return all
}

// submit an object; a job also runs to its end.
func submit(n *harness.Namespace, object client.Object) {
	n.T.Helper()
	job, is := object.(*v1alpha1.TrainingJob)
	if !is {
		n.Create(object)
		return
	}
	if spec.ManagedElsewhere(job) { // this operator leaves it alone
		return
	}
	prepare(n, job)
	n.Create(job)
	if spec.Suspended(job) {
		n.Reaches(job.Name, v1alpha1.PhaseSuspended)
		n.MergePatch(job, `{"spec":{"runPolicy":{"suspend":false}}}`)
	}
	n.Until(job.Name+" runs whole", func(ctx context.Context) (string, error) {
		if err := provide(ctx, n); err != nil {
			return "", err
		}
		j, err := n.Get(ctx, job.Name)
		if err != nil {
			return "", err
		}
		st := j.Status
		if st.Phase != v1alpha1.PhaseRunning || st.ReadyReplicas != st.Replicas || st.Replicas == 0 {
			blocker := ""
			if st.Scheduling != nil && st.Scheduling.Blocker != nil {
				blocker = st.Scheduling.Blocker.Message
			}
			return fmt.Sprintf("%s, %d of %d ready: %s %s", st.Phase, st.ReadyReplicas, st.Replicas, st.Message,
				blocker), nil
		}
		return "", nil
	})
	if job.Spec.Monitoring != nil {
		expectMonitor(n, job)
	}
	complete(n, job.Name)
	if st := n.Reaches(job.Name, v1alpha1.PhaseSucceeded).Status; st.Attempt != 1 || st.Restarts != 0 {
		n.T.Errorf("%s: attempt %d, %d restarts", job.Name, st.Attempt, st.Restarts)
	}
}

// expectMonitor: the operator has written the job's PodMonitor, with the rights that it ships with.
func expectMonitor(n *harness.Namespace, job *v1alpha1.TrainingJob) {
	n.T.Helper()
	monitor := &unstructured.Unstructured{}
	monitor.SetGroupVersionKind(render.PodMonitorKind)
	if err := n.Client.Get(n.T.Context(), client.ObjectKeyFromObject(job), monitor); err != nil {
		n.T.Errorf("%s has no PodMonitor: %v", job.Name, err)
		return
	}
	endpoints, _, err := unstructured.NestedSlice(monitor.Object, "spec", "podMetricsEndpoints")
	if len(endpoints) != 1 || err != nil || !metav1.IsControlledBy(monitor, job) {
		n.T.Errorf("the PodMonitor of %s has the endpoints %v, %v", job.Name, endpoints, err)
	}
}

// prepare what an admin would have: the priority class and the queue, and the claims of data that a document
// takes for granted.
func prepare(n *harness.Namespace, job *v1alpha1.TrainingJob) {
	n.T.Helper()
	policy := job.Spec.RunPolicy.SchedulingPolicy
	ensure := func(o client.Object) {
		if err := n.Client.Create(n.T.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
			n.T.Fatal(err)
		}
	}
	if policy.PriorityClass != "" {
		ensure(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: policy.PriorityClass}})
	}
	if policy.Queue != "" && policy.Queue != "default" {
		ensure(&volcanov1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: policy.Queue},
			Spec: volcanov1beta1.QueueSpec{Weight: 1}})
	}
	for name := range claims(job) {
		none := ""
		ensure(&corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: n.Name, Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, StorageClassName: &none,
				Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
				},
			},
		})
	}
}

// claims that a job names.
func claims(job *v1alpha1.TrainingJob) map[string]bool {
	names := map[string]bool{}
	volumes := job.Spec.Volumes
	for _, role := range job.Spec.ReplicaSpecs {
		volumes = append(volumes, role.Template.Spec.Volumes...)
	}
	for _, v := range volumes {
		if v.PersistentVolumeClaim != nil {
			names[v.PersistentVolumeClaim.ClaimName] = true
		}
	}
	if c := job.Spec.Checkpoint; c != nil && c.PVC.ClaimName != "" {
		names[c.PVC.ClaimName] = true
	}
	return names
}

// provide a volume for every claim that waits for one, as the provisioner of its class would.
func provide(ctx context.Context, n *harness.Namespace) error {
	list := &corev1.PersistentVolumeClaimList{}
	if err := n.Client.List(ctx, list, client.InNamespace(n.Name)); err != nil {
		return err
	}
	for _, claim := range list.Items {
		if claim.Status.Phase == corev1.ClaimBound {
			continue
		}
		class := ""
		if claim.Spec.StorageClassName != nil {
			class = *claim.Spec.StorageClassName
		}
		err := n.Client.Create(ctx, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: n.Name + "-" + claim.Name},
			Spec: corev1.PersistentVolumeSpec{
				Capacity: claim.Spec.Resources.Requests, AccessModes: claim.Spec.AccessModes, StorageClassName: class,
				ClaimRef: &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
				PersistentVolumeSource: corev1.PersistentVolumeSource{
					HostPath: &corev1.HostPathVolumeSource{Path: "/data"},
				},
			},
		})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// complete makes every rank exit with 0.
func complete(n *harness.Namespace, job string) {
	n.T.Helper()
	pods := &corev1.PodList{}
	if err := n.Client.List(n.T.Context(), pods, client.InNamespace(n.Name),
		client.MatchingLabels{v1alpha1.LabelJobName: job}); err != nil {
		n.T.Fatal(err)
	}
	for _, pod := range pods.Items {
		n.MergePatch(&pod, fmt.Sprintf(`{"metadata":{"annotations":{%q:"0"}}}`, localcluster.AnnotationRunSeconds))
	}
}
