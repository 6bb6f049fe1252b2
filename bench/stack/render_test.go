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

	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// What a stack's users write is data, and a change of it is to be seen in review. Regenerate with -update.
var update = flag.Bool("update", false, "rewrite the golden files")

func TestRender(t *testing.T) {
	gangs := map[string]workload.Gang{
		"gang":   {Name: "gang", Ranks: 4, GPUs: 8, Priority: workload.PriorityNormal},
		"single": {Name: "single", Ranks: 1, GPUs: 2, Priority: workload.PriorityHigh},
	}
	for _, s := range Peers(Stock) {
		file := strings.ReplaceAll(s.Describe().Name, "/", "-")
		t.Run(file+" queue", func(t *testing.T) { golden(t, file+"-queue.yaml", s.Queue("bench-1", 32)) })
		for name, gang := range gangs {
			t.Run(file+" "+name, func(t *testing.T) {
				golden(t, file+"-"+name+".yaml", s.Render("bench-1", gang))
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
	master := map[string]string{labelReplicaType: "master", labelReplicaIndex: "0"}
	worker := map[string]string{labelReplicaType: "worker", labelReplicaIndex: "2"}
	cases := map[string]struct {
		reason string
		stack  Stack
		labels map[string]string
		want   int
		fails  bool
	}{
		"kubeflow master":   {"the master is rank 0", Kubeflow{Stock}, master, 0, false},
		"kubeflow worker":   {"workers come after it", Kubeflow{Stock}, worker, 3, false},
		"kubeflow neither":  {"no type", Kubeflow{Stock}, map[string]string{labelReplicaIndex: "1"}, 0, true},
		"volcano":           {"one task", VolcanoJob{Stock}, map[string]string{"volcano.sh/task-index": "3"}, 3, false},
		"job":               {"indexed", KueueJob{Stock}, map[string]string{"batch.kubernetes.io/job-completion-index": "2"}, 2, false},
		"jobset":            {"one Job", KueueJobSet{Stock}, map[string]string{"batch.kubernetes.io/job-completion-index": "1"}, 1, false},
		"somebody else's":   {"no label", KueueJob{Stock}, nil, 0, true},
		"not even a number": {"a label of users", VolcanoJob{Stock}, map[string]string{"volcano.sh/task-index": "x"}, 0, true},
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

// Two stacks that share a cluster's options must not share a map of limits.
func TestClusterIsComplete(t *testing.T) {
	for _, profile := range []Profile{Stock, Equal} {
		for _, s := range Peers(profile) {
			options := localcluster.Options{Dir: "/d", Nodes: 3}
			s.Cluster(&options)
			if options.Nodes != 3 || len(options.Schedulers) == 0 || len(options.Limits) == 0 {
				t.Errorf("%s: %+v", s.Describe().Name, options)
			}
		}
	}
}
