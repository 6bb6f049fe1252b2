//go:build cluster

package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const root = "../.."

// job in the TFJob-admin dialect: 2 workers with 4 GPUs each.
const job = `{
  "metadata": {"name": "mnist"},
  "spec": {
    "description": "digits", "runtime": "Python_2.7+Tensorflow_1.2.1", "workdir": "/opt/jobs",
    "bootfile": "/opt/jobs/train.py", "args": "--batch 10", "enviroment": "EPOCHS=3",
    "replicas": [{"type": "worker", "conut": "2", "resource": {"cpu": "1", "memory": "1Gi", "gpu": "4"}}]
  }
}`

// document is an answer of the dialect.
type document struct {
	Metadata struct {
		ID, UID, Name, DeletionTime string
		Total                       int
	}
	Status struct{ Phase string }
	Items  []document
}

const (
	partition = "/api/v1alpha1/clusters/default/partitions/clever/tfjobs"
	cluster   = "/api/v1/clusters/default"
)

// TestStory: a job that is submitted with curl runs to its end over a kill -9 of the server, is deleted, and
// is in the history, in the dialect and in the accounting, only for users who could read it with kubectl.
func TestStory(t *testing.T) {
	s := deployed(t, onVolcano(t))
	ann, stranger := s.person(t, "ann", true), s.person(t, "stranger", false)
	s.start(t)
	s.warns(t, ann)

	var made document
	s.curl(t, ann, http.StatusOK, &made, "-X", "POST", "-d", job, partition)
	if made.Metadata.ID == "" || !strings.Contains(made.Metadata.UID, "ann") {
		t.Fatalf("made is %+v", made)
	}
	one := partition + "/" + made.Metadata.ID
	s.reaches(t, ann, one, "running")
	s.explains(t, ann)
	s.kill(t)
	s.complete(t, "mnist")
	s.start(t)
	s.reaches(t, ann, one, "succeeded")
	s.hiddenFrom(t, stranger, one)

	s.curl(t, ann, http.StatusOK, nil, "-X", "DELETE", one)
	s.gone(t, "mnist")
	harness.Until(t, "the deleted job is in the history", func(context.Context) (string, error) {
		var past document
		s.curl(t, ann, http.StatusOK, &past, one)
		if past.Status.Phase != "succeeded" || past.Metadata.DeletionTime == "" {
			return fmt.Sprintf("%+v", past), nil
		}
		return "", nil
	})
	s.accounted(t, ann, s.inHistory(t, ann, made))
	s.hiddenFrom(t, stranger, one)
	t.Run("deleted while the server is away", func(t *testing.T) { s.heldBack(t, ann) })
	s.stop(t)
}

// warns with what a policy of the cluster warns of, as kubectl would print it.
func (s *stack) warns(t *testing.T, ann string) {
	t.Helper()
	s.create(t, &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "warns"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionregistrationv1.RuleWithOperations{
						Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
						Rule: admissionregistrationv1.Rule{
							APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{"*"},
							Resources: []string{"trainingjobs"},
						},
					},
				}},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "object.metadata.name != 'warned'", Message: "think twice",
			}},
		},
	})
	s.create(t, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "warns"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "warns", ValidationActions: []admissionregistrationv1.ValidationAction{
				admissionregistrationv1.Warn,
			},
		},
	})
	const manifest = `{"apiVersion": "mlplatform.example.com/v1alpha1", "kind": "TrainingJob",
		"metadata": {"name": "warned"}, "spec": {"framework": "custom", "image": "a", "command": ["b"]}}`
	harness.Until(t, "the policy warns", func(context.Context) (string, error) {
		reported := s.request(t, ann, "%header{warning}", "-X", "POST", "-d", manifest,
			cluster+"/namespaces/clever/trainingjobs?dryRun=All")
		if !strings.Contains(reported.last, "think twice") { // the policy takes a moment to act
			return fmt.Sprintf("%s: %s", reported.last, reported.body), nil
		}
		return "", nil
	})
}

// explains that the job runs, with REST beside the dialect, and what its queue has.
func (s *stack) explains(t *testing.T, ann string) {
	var e struct{ Phase, Summary, Queue string }
	s.curl(t, ann, http.StatusOK, &e, cluster+"/namespaces/clever/trainingjobs/mnist/explain")
	if e.Phase != "Running" || !strings.Contains(e.Summary, "2/2") {
		t.Errorf("explained as %+v", e)
	}
	var queues struct {
		Items []struct {
			Kind, Name  string
			RunningGPUs int64
		}
	}
	s.curl(t, ann, http.StatusOK, &queues, cluster+"/queues")
	for _, q := range queues.Items {
		if q.Kind == "Queue" && q.Name == "default" && q.RunningGPUs == 8 {
			return
		}
	}
	t.Errorf("no queue has the job: %+v", queues)
}

// inHistory: the job's record is there, by its UID, with what ran and how it ended. It returns how long the
// job ran.
func (s *stack) inHistory(t *testing.T, ann string, made document) time.Duration {
	t.Helper()
	_, uid, _ := strings.Cut(made.Metadata.ID, ".")
	var r struct {
		Job struct {
			Name, Phase, User string
			GPUs              int64
			Deleted           string
		}
		Attempts []struct {
			Started, Ended time.Time
			EndPhase       string
		}
	}
	s.curl(t, ann, http.StatusOK, &r, cluster+"/history/jobs/"+uid)
	if r.Job.Name != "mnist" || r.Job.Phase != "Succeeded" || r.Job.GPUs != 8 || r.Job.Deleted == "" ||
		len(r.Attempts) != 1 || r.Attempts[0].EndPhase != "Succeeded" {
		t.Fatalf("the record is %+v", r)
	}
	var list struct{ Items []struct{ Name string } }
	s.curl(t, ann, http.StatusOK, &list, cluster+"/history/jobs?namespace=clever&deleted=true")
	if len(list.Items) != 1 || list.Items[0].Name != "mnist" {
		t.Errorf("the list of deleted jobs is %+v", list)
	}
	return r.Attempts[0].Ended.Sub(r.Attempts[0].Started)
}

// accounted with its GPU-seconds, and what they cost.
func (s *stack) accounted(t *testing.T, ann string, ran time.Duration) {
	t.Helper()
	var sums struct {
		Currency string
		Items    []struct {
			Namespace, User, Queue string
			Jobs                   int64
			GPUSeconds             int64
			Cost                   *json.Number
		}
	}
	s.curl(t, ann, http.StatusOK, &sums, cluster+"/accounting?by=namespace,user,queue")
	if len(sums.Items) != 1 || sums.Currency != "EUR" {
		t.Fatalf("accounted is %+v", sums)
	}
	got := sums.Items[0]
	if got.Namespace != "clever" || !strings.Contains(got.User, "ann") || got.Jobs != 1 ||
		got.Queue != "default" || got.GPUSeconds != 8*int64(ran/time.Second) || got.Cost == nil {
		t.Errorf("of %v is accounted %+v", ran, got)
	}
}

// hiddenFrom who may not read jobs, and from who does not say who they are.
func (s *stack) hiddenFrom(t *testing.T, stranger, one string) {
	t.Helper()
	for _, path := range []string{one, partition} {
		s.curl(t, stranger, http.StatusForbidden, nil, path)
		s.curl(t, "", http.StatusUnauthorized, nil, path)
	}
	var list struct{ Items []struct{ Name string } }
	s.curl(t, stranger, http.StatusOK, &list, cluster+"/history/jobs")
	if len(list.Items) > 0 {
		t.Errorf("a stranger sees the history: %+v", list)
	}
	s.curl(t, "", http.StatusUnauthorized, nil, cluster+"/history/jobs")
}

// heldBack: with the finalizer a job that is deleted while the server is away waits for it, without ranks.
func (s *stack) heldBack(t *testing.T, ann string) {
	var made document
	s.curl(t, ann, http.StatusOK, &made, "-X", "POST", "-d", strings.Replace(job, "mnist", "held", 1), partition)
	one := partition + "/" + made.Metadata.ID
	s.reaches(t, ann, one, "running")
	held := &v1alpha1.TrainingJob{}
	key := client.ObjectKey{Namespace: "clever", Name: "held"}
	harness.Until(t, "the job has the finalizer", func(ctx context.Context) (string, error) {
		err := s.cluster.Client.Get(ctx, key, held)
		if err == nil && len(held.Finalizers) == 0 {
			return "it has none", nil
		}
		return "", err
	})
	s.kill(t)
	if err := s.cluster.Client.Delete(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	harness.Until(t, "its ranks are ended", func(ctx context.Context) (string, error) {
		pods := &corev1.PodList{}
		err := s.cluster.Client.List(ctx, pods, client.InNamespace("clever"),
			client.MatchingLabels{v1alpha1.LabelJobName: "held"})
		if len(pods.Items) > 0 {
			return fmt.Sprintf("%d pods are left", len(pods.Items)), err
		}
		return "", err
	})
	if err := s.cluster.Client.Get(t.Context(), key, held); err != nil {
		t.Fatalf("it did not wait for the server: %v", err)
	}
	s.start(t)
	s.gone(t, "held")
	var past document
	s.curl(t, ann, http.StatusOK, &past, one)
	if past.Metadata.DeletionTime == "" || past.Status.Phase != "deleted" {
		t.Errorf("the past is %+v", past)
	}
}

// reaches waits until the dialect says a phase.
func (s *stack) reaches(t *testing.T, ann, path, phase string) {
	t.Helper()
	harness.Until(t, path+" is "+phase, func(context.Context) (string, error) {
		var d document
		s.curl(t, ann, http.StatusOK, &d, path)
		if d.Status.Phase != phase {
			return "it is " + d.Status.Phase, nil
		}
		return "", nil
	})
}

// complete has every rank of a job exit with 0.
func (s *stack) complete(t *testing.T, name string) {
	t.Helper()
	pods := &corev1.PodList{}
	if err := s.cluster.Client.List(t.Context(), pods, client.InNamespace("clever"),
		client.MatchingLabels{v1alpha1.LabelJobName: name}); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != 2 {
		t.Fatalf("%s has %d pods", name, len(pods.Items))
	}
	for i := range pods.Items {
		before := pods.Items[i].DeepCopy()
		pods.Items[i].Annotations[localcluster.AnnotationRunSeconds] = "0"
		if err := s.cluster.Client.Patch(t.Context(), &pods.Items[i], client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	harness.Until(t, name+" has succeeded", func(ctx context.Context) (string, error) {
		j := &v1alpha1.TrainingJob{}
		err := s.cluster.Client.Get(ctx, client.ObjectKey{Namespace: "clever", Name: name}, j)
		if j.Status.Phase != v1alpha1.PhaseSucceeded {
			return string(j.Status.Phase), err
		}
		return "", err
	})
}

// gone waits until the API server has the job no longer.
func (s *stack) gone(t *testing.T, name string) {
	t.Helper()
	harness.Until(t, name+" is gone", func(ctx context.Context) (string, error) {
		err := s.cluster.Client.Get(ctx, client.ObjectKey{Namespace: "clever", Name: name}, &v1alpha1.TrainingJob{})
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "it is there", err
	})
}
