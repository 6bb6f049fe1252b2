package mlflow

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// intercepted gives an exporter a cluster whose patches go through a function.
func intercepted(
	f *fixture, patch func(context.Context, ctrlclient.WithWatch, ctrlclient.Object, ctrlclient.Patch) error,
) func(*Options) {
	return func(o *Options) {
		o.Clusters[clusterName] = interceptor.NewClient(f.cluster.(ctrlclient.WithWatch), interceptor.Funcs{
			Patch: func(ctx context.Context, c ctrlclient.WithWatch, o ctrlclient.Object, p ctrlclient.Patch,
				_ ...ctrlclient.PatchOption) error {
				return patch(ctx, c, o, p)
			},
		})
	}
}

// TestUsersAnnotationStays, even when it was written at the same time.
func TestUsersAnnotationStays(t *testing.T) {
	mine := newJob("bert")
	mine.Annotations = map[string]string{v1alpha1.AnnotationMLflowRunID: "mine"}
	f := newFixture(t, mine)
	f.record(running("bert"))
	f.converge(f.exporter())
	if got := f.annotation("bert"); got != "mine" {
		t.Errorf("it is %q", got)
	}

	f = newFixture(t, newJob("bert"))
	f.record(running("bert"))
	tries := 0
	f.converge(f.exporter(intercepted(f,
		func(ctx context.Context, c ctrlclient.WithWatch, o ctrlclient.Object, p ctrlclient.Patch) error {
			if tries++; tries == 1 {
				users := ctrlclient.RawPatch("application/merge-patch+json",
					[]byte(`{"metadata":{"annotations":{"mlplatform.example.com/mlflow-run-id":"theirs"}}}`))
				if err := c.Patch(ctx, o.DeepCopyObject().(ctrlclient.Object), users); err != nil {
					t.Error(err)
				}
			}
			return c.Patch(ctx, o, p)
		})))
	if got := f.annotation("bert"); got != "theirs" || tries != 1 {
		t.Errorf("it is %q after %d patches", got, tries)
	}
}

// TestAnotherJobOfTheName is not annotated, and neither is one that comes while the patch is under way.
func TestAnotherJobOfTheName(t *testing.T) {
	other := newJob("bert")
	other.UID = "another"
	f := newFixture(t, other)
	f.record(running("bert"))
	f.converge(f.exporter())
	if got := f.annotation("bert"); got != "" {
		t.Errorf("it is %q", got)
	}

	f = newFixture(t, newJob("bert"))
	f.record(running("bert"))
	f.converge(f.exporter(intercepted(f,
		func(ctx context.Context, c ctrlclient.WithWatch, o ctrlclient.Object, p ctrlclient.Patch) error {
			data, err := p.Data(o)
			if err != nil || !strings.Contains(string(data), `"uid":"uid-of-bert"`) ||
				!strings.Contains(string(data), `"resourceVersion":"`) {
				t.Errorf("the patch is %s: %v", data, err)
			}
			return c.Patch(ctx, o, p)
		})))
}

// TestWithoutTheRight: the run is up to date all the same, and the annotation is tried again.
func TestWithoutTheRight(t *testing.T) {
	f := newFixture(t, newJob("bert"))
	f.record(running("bert"))
	forbidden := true
	e := f.exporter(intercepted(f,
		func(ctx context.Context, c ctrlclient.WithWatch, o ctrlclient.Object, p ctrlclient.Patch) error {
			if forbidden {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "trainingjobs"}, "bert", errors.New("no"))
			}
			return c.Patch(ctx, o, p)
		}))
	if err := f.pass(e); err != nil {
		t.Errorf("one job's annotation stops all: %v", err)
	}
	if text := f.run().text(); !strings.Contains(text, "parameter lr = 0.001") {
		t.Errorf("the run is\n%s", text)
	}
	forbidden = false
	f.converge(e)
	if got := f.annotation("bert"); got != f.run().id {
		t.Errorf("it is %q", got)
	}
}

// TestGoneJob has a run, and nothing to annotate.
func TestGoneJob(t *testing.T) {
	f := newFixture(t)
	f.record(running("bert"))
	f.converge(f.exporter())
	f.run()
}
