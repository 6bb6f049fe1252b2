package convert_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/convert"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

var update = flag.Bool("update", false, "write testdata instead of comparing with it")

// inputs are the documents in testdata, a folder for each source.
func inputs(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*/*.in.*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	return paths
}

// converted converts every document of a file; none may fail.
func converted(t testing.TB, path string) (objects []runtime.Object, warnings []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := convert.Split(data)
	if err != nil {
		t.Fatal(err)
	}
	options := convert.Options{Runtimes: convert.FindRuntimes(docs)}
	if filepath.Base(filepath.Dir(path)) == "slurm" { // most scripts name no image
		options.Image = "registry.example.com/train:1"
	}
	for _, doc := range docs {
		result, err := convert.Convert(doc, options)
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		objects = append(objects, result.Objects...)
		for _, w := range result.Warnings {
			warnings = append(warnings, fmt.Sprintf("%s: %s\n", doc, w))
		}
	}
	return objects, warnings
}

// TestGolden compares what becomes of the inputs with the files beside them: <case>.out.yaml has the objects,
// <case>.warnings.txt the warnings, and <case>.pods.txt roles, environment and mounts of the resulting pods.
func TestGolden(t *testing.T) {
	for _, path := range inputs(t) {
		base, _, _ := strings.Cut(path, ".in.")
		t.Run(strings.TrimPrefix(base, "testdata/"), func(t *testing.T) {
			objects, warnings := converted(t, path)
			var out, pods strings.Builder
			for _, o := range objects {
				text, err := yaml.Marshal(o)
				if err != nil {
					t.Fatal(err)
				}
				out.WriteString("---\n" + string(text))
				if job, is := o.(*v1alpha1.TrainingJob); is {
					describePods(t, &pods, job)
				}
			}
			golden(t, base+".out.yaml", out.String())
			golden(t, base+".warnings.txt", strings.Join(warnings, ""))
			golden(t, base+".pods.txt", pods.String())
		})
	}
}

func TestEverySourceHasInputs(t *testing.T) {
	for _, s := range convert.Sources() {
		paths, err := filepath.Glob(filepath.Join("testdata", s.Name, "*.in.*"))
		if err != nil || len(paths) < 2 {
			t.Errorf("%s has the inputs %v, %v: want at least two", s.Name, paths, err)
		}
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// describePods writes what the first and the last rank of every role have.
func describePods(t *testing.T, b *strings.Builder, job *v1alpha1.TrainingJob) {
	job = job.DeepCopy()
	job.UID = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
	if spec.NeedsSSH(job) {
		const key = "ssh-ed25519 AAAA"
		job.Status.MPI = &v1alpha1.MPIStatus{SSHPublicKey: key, SSHSecretName: spec.SSHSecretName(job, key)}
	}
	for _, role := range spec.Roles(job) {
		indexes := slices.Compact([]int32{0, role.Replicas - 1})
		for _, index := range indexes {
			ref := spec.RankRef{Role: role.Name, Index: index}
			pod, err := render.Pod(job, ref, 1, nil, render.Agent{Image: "agent:1"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(b, "%s %d of %d: %s\n", role.Name, index, role.Replicas, pod.Name)
			for _, c := range pod.Spec.Containers {
				describeContainer(b, c)
			}
		}
	}
}

func describeContainer(b *strings.Builder, c corev1.Container) {
	fmt.Fprintf(b, "  container %s: %s\n", c.Name, strings.Join(append(slices.Clone(c.Command), c.Args...), " "))
	for _, e := range c.Env {
		value := e.Value
		if from := e.ValueFrom; from != nil && from.FieldRef != nil {
			value = "<" + from.FieldRef.FieldPath + ">"
		}
		fmt.Fprintf(b, "    %s=%s\n", e.Name, value)
	}
	for _, m := range c.VolumeMounts {
		fmt.Fprintf(b, "    %s at %s %s\n", m.Name, m.MountPath, cmp.Or(m.SubPath, "-"))
	}
}

// TestErrors: what cannot be converted names the field, or the key, that is at fault.
func TestErrors(t *testing.T) {
	const pytorch = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec:\n"
	worker := func(rest string) string {
		return pytorch + "  pytorchReplicaSpecs:\n    Worker:\n      template: {spec: {containers: [{name: p, " +
			"image: i" + rest + "}]}}\n"
	}
	cases := map[string]struct{ reason, document, want string }{
		"type": {
			"a value of the wrong type has a path",
			pytorch + "  pytorchReplicaSpecs: {Worker: {replicas: two}}",
			"spec.pytorchReplicaSpecs.Worker.replicas: ",
		},
		"quantity": {
			"types that read themselves too",
			worker(", resources: {limits: {cpu: lots}}"),
			"spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].resources.limits.cpu: quantities must " +
				"match",
		},
		"duplicate": {
			"one of two values would be lost",
			pytorch + "  nprocPerNode: auto\n  nprocPerNode: gpu\n",
			`key "nprocPerNode" already set`,
		},
		"JSON": {
			"in JSON too",
			`{"kind": "PyTorchJob", "spec": {"a": 1, "a": 2}}`,
			`duplicate field "spec.a"`,
		},
		"role": {
			"a role of another kind",
			pytorch + "  pytorchReplicaSpecs: {PS: {}}",
			"spec.pytorchReplicaSpecs[PS]: is no role",
		},
		"none": {
			"no role at all",
			pytorch + "  nprocPerNode: auto",
			"spec.pytorchReplicaSpecs: the job has no replicas",
		},
		"twice": {
			"Kubeflow takes roles in any case",
			pytorch + "  pytorchReplicaSpecs: {Worker: {}, worker: {}}",
			"which is the same role",
		},
		"name": {
			"ranks are named after the job",
			strings.Replace(worker(""), "{name: a}", "{}", 1),
			"metadata.name: the job needs a name",
		},
		"prefix": {
			"a name that the API refuses",
			strings.Replace(worker(""), "{name: a}", "{generateName: 4you-}", 1),
			"metadata.name: the TrainingJob that it becomes is refused",
		},
		"result": {
			"the API's own rules hold",
			strings.Replace(worker(""), "{name: a}", "{name: 4you}", 1),
			"metadata.name: the TrainingJob that it becomes is refused",
		},
		"scheduler": {
			"a gang has one",
			worker("") + "    Master:\n      template: {spec: {schedulerName: volcano, containers: [{name: p, " +
				"image: i}]}, metadata: {labels: {kueue.x-k8s.io/queue-name: a}}}\n  runPolicy: {schedulingPolicy: " +
				"{queue: b}}",
			`the queue "a": the job has queue "b" already`,
		},
		"kind": {
			"a kind of the same group",
			"apiVersion: kubeflow.org/v1\nkind: PaddleJob",
			"kind: kubeflow.org/v1 PaddleJob cannot be converted",
		},
		"version": {"another version of a kind", "apiVersion: kubeflow.org/v1beta1\nkind: TFJob", ""},
		"no kind": {
			"neither Kubernetes' nor TFJob-admin's",
			"spec: {a: 1}",
			"kind: the document has no apiVersion and kind",
		},
		"tuning": {
			"MXTune does not train",
			"apiVersion: kubeflow.org/v1\nkind: MXJob\nmetadata: {name: a}\nspec: {jobMode: MXTune}",
			"spec.jobMode: ",
		},
		"tasks": {
			"two tasks of one role",
			"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\nspec: {tasks: [{name: a, " +
				"replicas: 1}, {name: b, replicas: 1}]}",
			"spec.tasks[1].name: b would be a second role Worker",
		},
		"nfs": {
			"no storage of ours",
			"apiVersion: ml.example.com/v1\nkind: TrainingJob\nmetadata: {name: a}\nspec: {model: m, dataset: " +
				"d, checkpoint: {storage: {type: nfs}}}",
			"spec.checkpoint.storage.type: ",
		},
		"runtime": {
			"no image is known",
			`{"name": "a", "runtime": "Caffe_1", "bootfile": "/a/b.py", "replicas": [{"type": "worker"}]}`,
			"runtime: ",
		},
		"count": {
			"not a number",
			`{"name": "a", "runtime": "Tensorflow_1", "bootfile": "/a/b.py", "replicas": [{"count": "x"}]}`,
			"replicas[0].count: ",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			docs, err := convert.Split([]byte(c.document))
			if err == nil {
				_, err = convert.Convert(docs[0], convert.Options{})
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %q", c.reason, err, c.want)
			}
		})
	}
}

// TestGeneratedNames: a document with generateName always has the same name, in YAML and in JSON, so that
// `kubectl apply` of its TrainingJob a second time changes nothing; another document has another.
func TestGeneratedNames(t *testing.T) {
	const volcano = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {generateName: bert-}\n" +
		"spec:\n  tasks: [{name: worker, replicas: 2, template: {spec: {containers: [{name: c, image: i, " +
		"command: [a]}]}}}]\n"
	inJSON, err := yaml.YAMLToJSON([]byte(volcano))
	if err != nil {
		t.Fatal(err)
	}
	files := []string{
		volcano, "# a comment\n" + volcano, string(inJSON), strings.Replace(volcano, "2", "3", 1),
	}
	names := make([]string, len(files))
	for i, file := range files {
		docs, err := convert.Split([]byte(file))
		if err != nil {
			t.Fatal(err)
		}
		result, err := convert.Convert(docs[0], convert.Options{})
		if err != nil {
			t.Fatal(err)
		}
		names[i] = result.Objects[0].(*v1alpha1.TrainingJob).Name
		want := convert.Problem{Field: "metadata.generateName", Message: "becomes the name " + names[i] +
			", which equal documents share: kubectl apply runs them once"}
		if !slices.Contains(result.Warnings, want) {
			t.Errorf("no warning %q in %v", want, result.Warnings)
		}
	}
	if names[0] != "bert-fb3o3" || names[1] != names[0] || names[2] != names[0] || names[3] == names[0] {
		t.Errorf("names %q", names)
	}
}

// TestUnknownFields: a field that the kind does not have is named, and so is one that has no counterpart.
func TestUnknownFields(t *testing.T) {
	docs, err := convert.Split([]byte(`{"apiVersion": "kubeflow.org/v1", "kind": "JAXJob",
		"metadata": {"name": "a"},
		"spec": {"jaxReplicaSpecs": {"Worker": {"replica": 2, "template": {"spec": {"nodeName": "n",
		"containers": [{"name": "jax", "image": "i", "comand": ["a"]}]}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	result, err := convert.Convert(docs[0], convert.Options{Namespace: "team-b"})
	if err != nil {
		t.Fatal(err)
	}
	if ns := result.Objects[0].(*v1alpha1.TrainingJob).Namespace; ns != "team-b" {
		t.Errorf("namespace %q", ns)
	}
	for _, want := range []string{
		"spec.jaxReplicaSpecs.Worker.replica", "spec.jaxReplicaSpecs.Worker.template.spec.containers[0].comand",
		"spec.jaxReplicaSpecs[Worker].template.spec.nodeName",
	} {
		if !slices.ContainsFunc(result.Warnings, func(p convert.Problem) bool { return p.Field == want }) {
			t.Errorf("no warning of %s in %v", want, result.Warnings)
		}
	}
}

// TestSplit: the documents of a file keep their numbers.
func TestSplit(t *testing.T) {
	cases := map[string]struct{ reason, file, want string }{
		"YAML": {
			"comments and empty documents do not count",
			"# a\n---\nkind: A\n---\n---\nkind: B\n",
			"document 1 (A) document 2 (B)",
		},
		"JSON": {"one after another", `{"kind": "A"} {"kind": "B"}`, "document 1 (A) document 2 (B)"},
		"flow": {"YAML may look like JSON", "{kind: A}\n---\n{kind: B}", "document 1 (A) document 2 (B)"},
		"list": {
			"a List is its items",
			"kind: List\nitems: [{kind: A}, {kind: B, metadata: {name: b}}]",
			"document 1, item 1 (A) document 1, item 2 (B b)",
		},
		"end":      {"... ends a document too", "kind: A\n...\nkind: B\n", "document 1 (A) document 2 (B)"},
		"array":    {"so is an array", `[{"kind": "A"}]`, "document 1, item 1 (A)"},
		"terminal": {"names are a stranger's", "kind: \"A\\e[2J\"", "document 1 (A [2J)"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			docs, err := convert.Split([]byte(c.file))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range docs {
				got = append(got, d.String())
			}
			if diff := gocmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
	for _, file := range []string{
		"", "# nothing", "42", "[1]", "{", "a: b: c", `{"a": 1} x`, "{a: 1}\n{b: 2}",
		"kind: List\nitems: [{kind: List, items: [{kind: A}]}]", // kubectl would apply A
	} {
		if docs, err := convert.Split([]byte(file)); err == nil {
			t.Errorf("%q is %v", file, docs)
		}
	}
	if _, err := convert.Split(make([]byte, convert.MaxBytes+1)); err == nil {
		t.Error("a file without bounds")
	}
}
