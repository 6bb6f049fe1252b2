package framework_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// TestAll checks what the CRD, docs/api.md and messages to users take for granted of every framework.
func TestAll(t *testing.T) {
	names := framework.Names()
	last := len(names) - 1
	if names[last] != "custom" || !slices.IsSorted(names[:last]) || slices.Contains(names[:last], "custom") {
		t.Errorf("%v: want them sorted, with custom last", names)
	}
	if len(slices.Compact(names)) != last+1 {
		t.Errorf("%v: want each name once", names)
	}
	for _, f := range framework.All() {
		if got, ok := framework.Get(f.Name); !ok || got.Name != f.Name {
			t.Errorf("Get(%q) returns %q, %v", f.Name, got.Name, ok)
		}
		if f.Env == nil || f.DefaultPort == 0 || f.Summary == "" || strings.HasSuffix(f.Summary, ".") {
			t.Errorf("%s: Env, DefaultPort and Summary are required; a summary has no full stop", f.Name)
		}
	}
	if f, ok := framework.Get("chainer"); ok || !f.KnowsRole("Worker") {
		t.Errorf("an unknown framework is %+v, %v", f, ok)
	}
}

func TestRoles(t *testing.T) {
	cases := map[string]struct {
		reason string
		roles  []string
		says   string
	}{
		"one":   {"a framework whose leader has no role of its own", []string{"Worker"}, "the role Worker"},
		"two":   {"two need no comma", []string{"Master", "Worker"}, "the roles Master and Worker"},
		"three": {"a list", []string{"Chief", "PS", "Worker"}, "the roles Chief, PS and Worker"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := framework.Framework{Name: "f", Roles: c.roles}
			want := "framework f knows " + c.says + ": rename or remove the others, or set spec.framework to custom"
			if diff := cmp.Diff(want, f.RolesMessage()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if !f.KnowsRole("Worker") || f.KnowsRole("Evaluator") {
				t.Errorf("%v: knows Worker %v, Evaluator %v", c.roles, f.KnowsRole("Worker"), f.KnowsRole("Evaluator"))
			}
		})
	}
}

// TestTemplate checks which container is the trainer, and which of its ports and resources count.
func TestTemplate(t *testing.T) {
	f := framework.Framework{
		ContainerNames: []string{"torch", "old"}, PortNames: []string{"torch-port"}, DefaultPort: 1,
	}
	quantity := resource.MustParse
	gpus := func(n string) corev1.ResourceList { return corev1.ResourceList{"amd.com/gpu": quantity(n)} }
	port := func(name string, number int32) corev1.ContainerPort {
		return corev1.ContainerPort{Name: name, ContainerPort: number}
	}
	named := func(names ...string) []corev1.Container {
		var cs []corev1.Container
		for _, name := range names {
			cs = append(cs, corev1.Container{Name: name})
		}
		return cs
	}
	cases := map[string]struct {
		reason     string
		containers []corev1.Container
		trainer    string
		want       framework.Role
	}{
		"none":   {"a template need not be valid", nil, "", framework.Role{Port: 1}},
		"first":  {"no name is known", named("a", "b"), "a", framework.Role{Port: 1}},
		"named":  {"the names are in order", named("a", "old", "torch"), "torch", framework.Role{Port: 1}},
		"common": {"our own name wins", named("torch", "trainer"), "trainer", framework.Role{Port: 1}},
		"ports": {
			"the first of the trainer's ports that has a known name",
			[]corev1.Container{{Name: "a", Ports: []corev1.ContainerPort{
				port("http", 2), port("torch-port", 3), port("rendezvous", 4),
			}}},
			"a", framework.Role{Port: 3},
		},
		"another's port": {
			"a sidecar's port is no rendezvous",
			[]corev1.Container{{Name: "a"}, {Name: "b", Ports: []corev1.ContainerPort{port("rendezvous", 2)}}},
			"a", framework.Role{Port: 1},
		},
		"GPUs": {
			"of all vendors, of the trainer alone, once where requests repeat limits",
			[]corev1.Container{
				{Name: "trainer", Resources: corev1.ResourceRequirements{
					Limits: corev1.ResourceList{
						"amd.com/gpu": quantity("2"), "nvidia.com/gpu": quantity("1"), "cpu": quantity("9"),
					},
					Requests: gpus("2"),
				}},
				{Name: "b", Resources: corev1.ResourceRequirements{Limits: gpus("4")}},
			},
			"trainer", framework.Role{GPUs: 3, Port: 1},
		},
		"requests": {
			"extended resources may be given in the requests alone",
			[]corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{
				Requests: gpus("2"), Limits: corev1.ResourceList{"memory": quantity("1Gi")},
			}}},
			"a", framework.Role{GPUs: 2, Port: 1},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			spec := &corev1.PodSpec{Containers: c.containers}
			if got := f.Trainer(spec).Name; got != c.trainer {
				t.Errorf("%s: the trainer is %q, want %q", c.reason, got, c.trainer)
			}
			c.want.Name, c.want.Replicas = "Worker", 4
			if diff := cmp.Diff(c.want, f.DescribeRole("Worker", 4, spec, nil)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestFiles checks which files Setup accepts.
func TestFiles(t *testing.T) {
	half := strings.Repeat("x", framework.MaxFileBytes/2)
	type files = map[string]string
	cases := map[string]struct {
		reason string
		files  files
		err    string
	}{
		"plain":   {"names as they occur", files{"hostfile": "a slots=2\n", "cluster_1.json": "{}"}, ""},
		"at most": {"the bound is included", files{"a": half, "b": half}, ""},
		"too large": {
			"annotations cannot carry it", files{"a": half, "b": half, "c": "x"}, "a gang of 4 ranks have 65537 bytes",
		},
		"path":    {"it would leave the directory", files{"a/b": ""}, `"a/b" is not a plain file name`},
		"dots":    {"it would leave the directory", files{"..": ""}, `".." is not a plain file name`},
		"no name": {"a file has one", files{"": ""}, `"" is not a plain file name`},
		"long name": {
			"the key of an annotation contains it", files{strings.Repeat("a", 49): ""}, "is not a plain file name",
		},
		"binary": {"JSON cannot carry it", files{"a": "\xff"}, "file a is not text"},
	}
	gang := framework.Gang{Roles: []framework.Role{{Name: "Worker", Replicas: 4}}}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := framework.Framework{Name: "f", Files: func(framework.Gang, framework.Rank) files { return c.files }}
			setup, err := f.Setup(gang, framework.Rank{})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%s: error %v, want %q", c.reason, err, c.err)
				}
				return
			}
			if err != nil || !cmp.Equal(setup.Files, c.files) {
				t.Errorf("%s: %v, %v", c.reason, setup.Files, err)
			}
		})
	}
}

// TestMessages: the remedies for users, and the frameworks with an elastic form.
func TestMessages(t *testing.T) {
	f := framework.Framework{Name: "f", Single: []string{"Scheduler"}, Needed: []string{"Scheduler", "Server"}}
	for got, want := range map[string]string{
		f.SingleMessage(): "framework f has one rank of each role Scheduler: set its replicas to 1",
		f.NeededMessage(): "framework f needs the roles Scheduler and Server in a job of more than one rank: " +
			"give them all in spec.replicaSpecs",
		framework.ElasticMessage(): "only framework pytorch has an elastic form: remove elasticPolicy, or change " +
			"spec.framework",
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestLargeGang: a variable that no program starts with is an error, and not a pod that fails for ever.
func TestLargeGang(t *testing.T) {
	f, _ := framework.Get("tensorflow")
	gang := func(replicas int32) framework.Gang {
		return framework.Gang{
			Job: "bert", Roles: []framework.Role{{Name: "Worker", Replicas: replicas, Port: 2222}},
			Host: func(string, int32) string { return strings.Repeat("x", 57) },
		}
	}
	// 57 + ":2222" + quotes and a comma are 65 bytes for each rank.
	if _, err := f.Setup(gang(2000), gang(2000).Leader()); err != nil {
		t.Errorf("130 kB: %v", err)
	}
	_, err := f.Setup(gang(2020), gang(2020).Leader())
	if err == nil || !strings.Contains(err.Error(), "TF_CONFIG for a gang of 2020 ranks has 131") {
		t.Errorf("131 kB: %v", err)
	}
}

// TestTaskIDs: XGBoost's tracker sorts them as text, and must come to the ranks' own order.
func TestTaskIDs(t *testing.T) {
	f, _ := framework.Get("xgboost")
	gang := framework.Gang{
		Roles: []framework.Role{{Name: "Worker", Replicas: 101}},
		Host:  func(string, int32) string { return "host" },
	}
	var ids []string
	for rank := range gang.Ranks() {
		setup, err := f.Setup(gang, rank)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range setup.Env {
			if e.Name == "DMLC_TASK_ID" {
				ids = append(ids, e.Value)
			}
		}
	}
	if !slices.IsSorted(ids) || ids[0] != "000" || ids[100] != "100" {
		t.Errorf("task ids %v", ids)
	}
}
