package tfjobadmin_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/tfjobadmin"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/validation"
)

func tensorflow() tfjobadmin.Runtime {
	return tfjobadmin.Runtime{
		Name: "Python_2.7+Tensorflow_1.2.1", Framework: v1alpha1.FrameworkTensorFlow, FrameworkVersion: "1.2.1",
		Image: "tensorflow/tensorflow:1.2.1", GPUImage: "tensorflow/tensorflow:1.2.1-gpu",
		Command: []string{"python", "-u"}, Dirs: []string{"/opt/jobs"},
	}
}

// clever has a claim within a claim, one of which is read-only.
func clever() tfjobadmin.Setup {
	return tfjobadmin.Setup{
		Runtime: tensorflow(), Queue: "research", Unmounted: "ask an admin",
		Mounts: []tfjobadmin.Mount{
			{Path: "/clever", Claim: "files", SubPath: "clever"},
			{Path: "/clever/data", Claim: "data", ReadOnly: true},
			{Path: "/scratch", Claim: "files", SubPath: "scratch"},
		},
	}
}

// randomSpec makes a valid spec.
func randomSpec(r *rand.Rand) tfjobadmin.Spec {
	words := []string{"", "a", "--x=1", "a b", "it's", `"`, "\\", "$HOME", "#", "ü\n", "'\"'"}
	word := func() string { return words[r.IntN(len(words))] }
	dir := func(roots ...string) string {
		if r.IntN(3) == 0 {
			return ""
		}
		return roots[r.IntN(len(roots))] + []string{"", "/a", "/a/b", "/c"}[r.IntN(4)]
	}
	s := tfjobadmin.Spec{
		Description: word(), Partition: "clever", Runtime: tensorflow().Name,
		Workdir:  dir("/clever", "/clever/data", "/opt/jobs"),
		Bootfile: []string{"train.py", "/clever/a/train.py", "/opt/jobs/x.py", "/clever/data/y"}[r.IntN(4)],
		Args:     []string{}, CheckpointDir: dir("/clever", "/scratch"), EventDir: dir("/clever"),
		ModelDir: dir("/clever/data", "/scratch"), LogDir: dir("/scratch"),
	}
	for range r.IntN(4) {
		s.Args = append(s.Args, word())
	}
	for i := range r.IntN(3) {
		if s.Environment == nil {
			s.Environment = tfjobadmin.Environment{}
		}
		s.Environment[fmt.Sprintf("V%d", i)] = word()
	}
	types := [][]string{{"worker"}, {"worker", "ps"}}[r.IntN(2)]
	for _, name := range types {
		replica := tfjobadmin.Replica{Type: name, Count: r.Int32N(5) + 1}
		if r.IntN(2) == 0 {
			replica.Resource.CPU = resource.NewMilliQuantity(r.Int64N(5000), resource.DecimalSI)
		}
		if r.IntN(2) == 0 {
			replica.Resource.Memory = resource.NewQuantity(r.Int64N(1<<40), resource.BinarySI)
		}
		replica.Resource.GPU = r.Int64N(3)
		s.Replicas = append(s.Replicas, replica)
	}
	return s
}

var equalSpecs = cmp.Options{cmpopts.EquateEmpty()}

// TestRoundTrip: a document says the same after it was a TrainingJob, and after it was JSON; and the job is
// one that the TrainingJob API takes.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 2))
	for range 500 {
		from := randomSpec(r)
		roundTrip(t, from)
		if t.Failed() {
			return
		}
	}
}

func roundTrip(t *testing.T, from tfjobadmin.Spec) {
	t.Helper()
	setup := clever()
	job, problems := setup.Job("mnist", from, tfjobadmin.Canonical)
	if len(problems) > 0 {
		t.Fatalf("%+v: %v", from, problems)
	}
	tfjobadmin.Annotate(job, from, setup.Runtime)
	if errs := validation.Validate(job); len(errs) > 0 {
		t.Errorf("%+v is refused: %v", from, errs)
	}
	doc := tfjobadmin.Describer{}.Describe(job)
	if diff := cmp.Diff(from, doc.Spec, equalSpecs); diff != "" {
		t.Errorf("after it was a job (-want +got):\n%s", diff)
	}
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	request, problems := tfjobadmin.Read(data)
	if len(problems) > 0 || len(request.Unknown) > 0 {
		t.Fatalf("%s: %v, unknown %v", data, problems, request.Unknown)
	}
	again := request.Apply(tfjobadmin.Spec{})
	if diff := cmp.Diff(from, again, equalSpecs); diff != "" {
		t.Errorf("after it was JSON (-want +got):\n%s", diff)
	}
	// What the job itself tells is enough to make it again.
	own := tfjobadmin.Own(job)
	same, problems := own.Job("mnist", again, tfjobadmin.Canonical)
	if len(problems) > 0 {
		t.Fatalf("%+v: %v", again, problems)
	}
	tfjobadmin.Annotate(same, again, own.Runtime)
	if diff := cmp.Diff(job, same, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the job from its document (-want +got):\n%s", diff)
	}
}

// FuzzRead: no document makes Read panic, and what it takes is the same after a round trip.
func FuzzRead(f *testing.F) {
	f.Add([]byte(nested))
	f.Add([]byte(`{"name": "a", "bootfile": "b.py", "args": "-a 'b c'", "cpu": 1.5, "conut": "2"}`))
	f.Add([]byte(`{"spec": {"replicas": {"count": "1", "replicas": [{"type": "ps", "conut": "0"}]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		request, problems := tfjobadmin.Read(data)
		if len(problems) > 0 {
			for _, p := range problems {
				if p.Detail == "" || p.Remedy == "" {
					t.Errorf("%+v says too little", p)
				}
			}
			return
		}
		from := request.Apply(tfjobadmin.Spec{})
		setup := clever()
		job, problems := setup.Job("mnist", from, request.At)
		if len(problems) > 0 {
			return
		}
		tfjobadmin.Annotate(job, from, setup.Runtime)
		described := tfjobadmin.Describer{}.Describe(job).Spec
		described.Runtime = from.Runtime
		again, problems := setup.Job("mnist", described, tfjobadmin.Canonical)
		if len(problems) > 0 {
			t.Fatalf("%+v became %+v: %v", from, described, problems)
		}
		tfjobadmin.Annotate(again, described, setup.Runtime)
		if diff := cmp.Diff(job, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
