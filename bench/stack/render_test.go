package stack

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/validation"
)

// What users of a stack write is data, so that a review shows changes. Regenerate with -update.
var update = flag.Bool("update", false, "rewrite the golden files")

func TestRender(t *testing.T) {
	gangs := map[string]workload.Gang{
		"gang":   {Name: "gang", Ranks: 4, GPUs: 8, Priority: workload.PriorityNormal},
		"single": {Name: "single", Ranks: 1, GPUs: 2, Priority: workload.PriorityHigh},
	}
	renderers := peers(Stock)
	for _, scheduler := range []string{"volcano", "kueue"} {
		renderers = append(renderers, ours{dialectOf(scheduler)})
	}
	for _, s := range renderers {
		file := strings.ReplaceAll(s.Describe().Name, "/", "-")
		t.Run(file+" queue", func(t *testing.T) { golden(t, file+"-queue.yaml", s.Queue("bench-1", 32)) })
		for name, gang := range gangs {
			t.Run(file+" "+name, func(t *testing.T) {
				objects := s.Render("bench-1", gang)
				golden(t, file+"-"+name+".yaml", objects)
				for _, object := range objects {
					if job, is := object.(*v1alpha1.TrainingJob); is {
						if refused := validation.Validate(job); len(refused) > 0 {
							t.Errorf("the operator refuses it: %v", refused.ToAggregate())
						}
					}
				}
			})
		}
	}
}

// golden compares the objects with a file of testdata; without objects there is none.
func golden(t *testing.T, file string, objects []client.Object) {
	t.Helper()
	if len(objects) == 0 {
		return
	}
	var got bytes.Buffer
	for _, object := range objects {
		sent, err := ToSend(object)
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.Marshal(sent.Object)
		if err != nil {
			t.Fatal(err)
		}
		got.WriteString("---\n")
		got.Write(text)
	}
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRank(t *testing.T) {
	labels := func(pairs ...string) map[string]string {
		of := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			of[pairs[i]] = pairs[i+1]
		}
		return of
	}
	const task, index = "volcano.sh/task-index", "batch.kubernetes.io/job-completion-index"
	cases := map[string]struct {
		reason string
		stack  Renderer
		labels map[string]string
		want   int
		fails  bool
	}{
		"trainer":           {"there is one Job", Trainer{}, labels(index, "3"), 3, false},
		"kueue trainer":     {"there is one Job", KueueTrainer{}, labels(index, "1"), 1, false},
		"volcano job":       {"there is one task", VolcanoJob{}, labels(task, "3"), 3, false},
		"kueue job":         {"it is indexed", KueueJob{}, labels(index, "2"), 2, false},
		"kueue jobset":      {"there is one Job", KueueJobSet{}, labels(index, "1"), 1, false},
		"another owner's":   {"it has no label", KueueJob{}, nil, 0, true},
		"not even a number": {"a user wrote the label", VolcanoJob{}, labels(task, "x"), 0, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := c.stack.Rank(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: c.labels}})
			if got != c.want || (err != nil) != c.fails {
				t.Errorf("%s: got %d, %v; want %d, error %v", c.reason, got, err, c.want, c.fails)
			}
		})
	}
}

func TestCluster(t *testing.T) {
	none := localcluster.Limits{}
	cases := map[string]struct {
		stack Renderer
		want  localcluster.Options
	}{
		"trainer": {Trainer{VolcanoJob{Equal}}, localcluster.Options{
			Schedulers: []string{"volcano"}, AddOns: []string{"jobset", "trainer"},
			Limits: map[string]localcluster.Limits{
				"trainer": equal, "jobset": {QPS: equal.QPS, Burst: equal.Burst}, "vc-controller-manager": equal,
			},
		}},
		"volcano job": {VolcanoJob{Stock}, localcluster.Options{
			Schedulers: []string{"volcano"}, Limits: map[string]localcluster.Limits{"vc-controller-manager": none},
		}},
		"ours on volcano": {ours{dialectOf("volcano")}, localcluster.Options{
			Schedulers: []string{"volcano"}, Limits: map[string]localcluster.Limits{"vc-controller-manager": equal},
		}},
		"ours on kueue": {ours{dialectOf("kueue")}, localcluster.Options{
			Schedulers: []string{"kueue"}, Configurations: map[string]string{"kueue": "release.yaml"},
		}},
		"kueue jobset": {KueueJobSet{KueueJob{Equal}}, localcluster.Options{
			Schedulers: []string{"kueue"}, AddOns: []string{"jobset"},
			Configurations: map[string]string{"kueue": "release.yaml"},
			Limits: map[string]localcluster.Limits{
				"kueue": equal, "jobset": {QPS: equal.QPS, Burst: equal.Burst},
			},
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			// Whatever the caller has chosen stays.
			got := localcluster.Options{Dir: "/d", Nodes: 3}
			c.want.Dir, c.want.Nodes = got.Dir, got.Nodes
			c.stack.Cluster(&got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
