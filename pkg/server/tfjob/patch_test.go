package tfjob_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/tfjob"
)

// reconfigured serves the same jobs with another configuration.
func (f *fixture) reconfigured(c tfjob.Config) *fixture {
	again := *f
	again.options.Config = c
	again.ServeMux = http.NewServeMux()
	tfjob.New(again.options).Register(again.ServeMux)
	return &again
}

// worker is the container of the Workers, as it is stored.
func (f *fixture) worker(t *testing.T) corev1.Container {
	t.Helper()
	job := &v1alpha1.TrainingJob{}
	if err := f.client.Get(t.Context(), client.ObjectKey{Namespace: "clever", Name: "mnist"}, job); err != nil {
		t.Fatal(err)
	}
	return job.Spec.ReplicaSpecs[v1alpha1.RoleWorker].Template.Spec.Containers[0]
}

// patched changes the documented job, and must be let to.
func (f *fixture) patched(t *testing.T, body string) corev1.Container {
	t.Helper()
	if answer := send(f, "PATCH", jobs+"/mnist", body); answer.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", body, answer.Code, answer.Body)
	}
	return f.worker(t)
}

// TestConfigurationChanges: what an admin has changed since is not forced upon a job that changes something
// else, and keeps no job from changing.
func TestConfigurationChanges(t *testing.T) {
	body, config := documented(t)
	f := newFixture(t, config)
	if answer := send(f, "POST", jobs, body); answer.Code != http.StatusOK {
		t.Fatal(answer.Body)
	}
	before := f.worker(t)

	replaced := config
	replaced.Runtimes = []tfjob.Runtime{config.Runtimes[0]}
	replaced.Runtimes[0].GPUImage = "replaced:1"
	after := f.reconfigured(replaced).patched(t, `{"args": ["--test=11"]}`)
	if after.Image != before.Image || after.Args[0] != "--test=11" {
		t.Errorf("a replaced image: %s %s", after.Image, after.Args)
	}

	gone := tfjob.Default()
	after = f.reconfigured(gone).patched(t, `{"args": ["--test=12"], "description": "x"}`)
	if after.Image != before.Image || after.Args[0] != "--test=12" || len(after.VolumeMounts) != 1 {
		t.Errorf("neither runtime nor mounts are configured: %+v", after)
	}

	other := config
	other.Runtimes = []tfjob.Runtime{{
		Name: "Torch", Framework: "pytorch", Image: "torch:1", Command: []string{"run"},
	}}
	after = f.reconfigured(other).patched(t, `{"runtime": "torch"}`)
	if after.Image != "torch:1" || after.Command[0] != "run" || len(after.Ports) != 0 {
		t.Errorf("another runtime: %+v", after)
	}
	after = f.reconfigured(config).patched(t, `{"runtime": "Python 2.7 + Tensorflow 1.2.1"}`)
	if after.Image != before.Image || after.Command[0] != "python" || len(after.Ports) != 1 {
		t.Errorf("back again: %+v", after)
	}
}

// TestPatchConflicts: the operator's writes between reading and writing are no matter of the client's.
func TestPatchConflicts(t *testing.T) {
	body, config := documented(t)
	f := newFixture(t, config)
	if answer := send(f, "POST", jobs, body); answer.Code != http.StatusOK {
		t.Fatal(answer.Body)
	}
	conflicts := 2
	f.access.client = interceptor.NewClient(f.client, interceptor.Funcs{
		Patch: func(
			ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption,
		) error {
			data, err := p.Data(o)
			if err != nil || !strings.Contains(string(data), `"resourceVersion"`) {
				t.Errorf("a patch without a lock: %s, %v", data, err)
			}
			if conflicts--; conflicts >= 0 {
				return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("trainingjobs").GroupResource(),
					o.GetName(), nil)
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
	if after := f.patched(t, `{"args": "-x"}`); after.Args[0] != "-x" {
		t.Errorf("args %s", after.Args)
	}
	conflicts = 100
	if answer := send(f, "PATCH", jobs+"/mnist", `{"args": "-y"}`); answer.Code != http.StatusConflict {
		t.Errorf("one that never ends: %d %s", answer.Code, answer.Body)
	}
	// Nothing is written where nothing changes.
	conflicts = 100
	f.patched(t, `{"args": "-x", "description": "digits"}`)
}

// TestListInChunks: a list is read in chunks, and at once where that took too long.
func TestListInChunks(t *testing.T) {
	body, config := documented(t)
	f := newFixture(t, config)
	for _, name := range []string{"a", "b", "c"} {
		send(f, "POST", jobs, strings.Replace(body, "mnist", name, 1))
	}
	var asked []client.ListOptions
	f.access.client = interceptor.NewClient(f.client, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			var o client.ListOptions
			o.ApplyOptions(opts)
			asked = append(asked, o)
			if o.Continue != "" {
				return apierrors.NewResourceExpired("too old")
			}
			err := c.List(ctx, l, client.InNamespace(o.Namespace))
			if jobs := l.(*v1alpha1.TrainingJobList); o.Limit > 0 {
				jobs.Items, jobs.Continue = jobs.Items[:2], "more"
			}
			return err
		},
	})
	answer := send(f, "GET", jobs, "")
	if answer.Code != http.StatusOK || !strings.Contains(answer.Body.String(), `"total":3`) {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	if len(asked) != 3 || asked[0].Limit == 0 || asked[1].Continue != "more" || asked[2].Limit != 0 {
		t.Errorf("asked %+v", asked)
	}
}

// TestPartitions: one that is not named has what * has.
func TestPartitions(t *testing.T) {
	_, config := documented(t)
	config.Partitions = append(config.Partitions, tfjob.Partition{
		Name: tfjob.AnyPartition, Queue: "rest", Mounts: []tfjob.Mount{{Path: "/home", Claim: "home"}},
	})
	f := newFixture(t, config)
	document := `{"name": "a", "runtime": "Python_2.7+Tensorflow_1.2.1", "bootfile": "/home/a.py", "count": 1}`
	dull := strings.Replace(jobs, "clever", "dull", 1)
	if answer := send(f, "POST", dull, document); answer.Code != http.StatusOK {
		t.Errorf("a partition without an entry: %d %s", answer.Code, answer.Body)
	}
	job := &v1alpha1.TrainingJob{}
	if err := f.client.Get(t.Context(), client.ObjectKey{Namespace: "dull", Name: "a"}, job); err != nil {
		t.Fatal(err)
	}
	if queue := job.Spec.RunPolicy.SchedulingPolicy.Queue; queue != "rest" {
		t.Errorf("queue %q", queue)
	}
	if answer := send(f, "POST", jobs, document); answer.Code != http.StatusUnprocessableEntity {
		t.Errorf("a partition with an entry: %d %s", answer.Code, answer.Body)
	}
}
