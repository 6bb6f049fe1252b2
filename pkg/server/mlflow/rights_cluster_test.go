//go:build cluster

package mlflow

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/test/api/apitest"
)

const root = "../../.."

// TestRights: with deploy/server/mlflow.yaml, on a real API server, the server's own account annotates a job
// with its run, and can change nothing else of it.
func TestRights(t *testing.T) {
	admin, config := apitest.StartWithConfig(t, root)
	if err := apitest.Install(t.Context(), admin, root+"/deploy/server/mlflow.yaml"); err != nil {
		t.Fatal(err)
	}
	config = rest.CopyConfig(config)
	config.Impersonate.UserName = "system:serviceaccount:trainingjob-system:trainingjob-server"
	server, err := ctrlclient.New(config, ctrlclient.Options{Scheme: admin.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	job := newJob("bert")
	job.Namespace, job.UID = "default", ""
	if err := admin.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	patch := func(text string) error {
		return server.Patch(t.Context(), job.DeepCopy(), ctrlclient.RawPatch(types.MergePatchType, []byte(text)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	last, n := error(nil), 0
	if err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		n++ // another change each time: one that is there already is none
		last = patch(fmt.Sprintf(`{"metadata":{"labels":{"try":"%d"}}}`, n))
		return last != nil && strings.Contains(last.Error(), "changes nothing of a job but"), nil
	}); err != nil {
		t.Fatalf("the policy does not take effect; last: %v", last)
	}

	f := newFixture(t)
	f.cluster = server
	live := job.DeepCopy()
	live.Status.Phase, live.Status.Attempt = v1alpha1.PhaseQueued, 1
	record := history.Of(clusterName, live, history.Options{})
	if err := f.history.Record(t.Context(), []history.Record{record}); err != nil {
		t.Fatal(err)
	}
	f.converge(f.exporter())
	if err := admin.Get(t.Context(), ctrlclient.ObjectKeyFromObject(job), job); err != nil {
		t.Fatal(err)
	}
	run := f.run().id
	if got := job.Annotations[v1alpha1.AnnotationMLflowRunID]; got != run {
		t.Fatalf("the annotation is %q, the run %s", got, run)
	}

	const (
		annotations = `{"metadata":{"annotations":{%s}}}`
		owner       = `{"apiVersion":"v1","kind":"Pod","name":"a","uid":"b"}`
	)
	for what, text := range map[string]string{
		"the spec":                  `{"spec":{"image":"mine:1"}}`,
		"an owner":                  `{"metadata":{"ownerReferences":[` + owner + `]}}`,
		"another finalizer":         `{"metadata":{"finalizers":["example.com/mine"]}}`,
		"another annotation":        fmt.Sprintf(annotations, `"mlplatform.example.com/restart":"now"`),
		"another run":               fmt.Sprintf(annotations, `"mlplatform.example.com/mlflow-run-id":"another"`),
		"the annotation's removal":  fmt.Sprintf(annotations, `"mlplatform.example.com/mlflow-run-id":null`),
		"an annotation of the name": fmt.Sprintf(annotations, `"mlplatform.example.com/mlflow-experiment":"prod"`),
	} {
		if err := patch(text); err == nil || !strings.Contains(err.Error(), "changes nothing of a job but") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := patch(`{"metadata":{"finalizers":["mlplatform.example.com/history"]}}`); err != nil {
		t.Errorf("the finalizer of the history: %v", err)
	}
}
