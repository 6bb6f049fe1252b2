package tfjobadmin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/pkg/tfjobadmin"
)

// nested is a job as TFJob-admin's document has it in answers.
const nested = `{
  "metadata": {"name": "mnist"},
  "spec": {
    "description": "two workers", "partition": "clever", "runtime": "Python_2.7+Tensorflow_1.2.1",
    "workdir": "/clever/admin/jobs", "bootfile": "/clever/admin/file.py",
    "args": ["--test=10", "--name=a b"], "enviroment": "EPOCHS=3 GREETING='a b'",
    "checkpointDir": "/clever/admin/checkpoints", "eventDir": "/clever/admin/events",
    "modelDir": "/clever/admin/models", "logDir": "/clever/admin/logs",
    "replicas": [
      {"type": "worker", "count": "2", "resource": {"cpu": "1.500", "memory": "2048Mi", "gpu": "1"}}
    ]
  }
}`

func quantity(text string) *resource.Quantity { return new(resource.MustParse(text)) }

func mnist() tfjobadmin.Spec {
	return tfjobadmin.Spec{
		Description: "two workers", Partition: "clever", Runtime: "Python_2.7+Tensorflow_1.2.1",
		Workdir: "/clever/admin/jobs", Bootfile: "/clever/admin/file.py",
		Args:          []string{"--test=10", "--name=a b"},
		Environment:   tfjobadmin.Environment{"EPOCHS": "3", "GREETING": "a b"},
		CheckpointDir: "/clever/admin/checkpoints", EventDir: "/clever/admin/events",
		ModelDir: "/clever/admin/models", LogDir: "/clever/admin/logs",
		Replicas: []tfjobadmin.Replica{{Type: tfjobadmin.TypeWorker, Count: 2, Resource: tfjobadmin.Resource{
			CPU: quantity("1500m"), Memory: quantity("2Gi"), GPU: 1,
		}}},
	}
}

// flat is the same job with its fields at the top, as in the document's table of the create call.
func flat(t *testing.T) map[string]any {
	t.Helper()
	var doc map[string]map[string]any
	if err := json.Unmarshal([]byte(nested), &doc); err != nil {
		t.Fatal(err)
	}
	tree := doc["spec"]
	tree["name"] = "mnist"
	return tree
}

// TestSpellings: every form in which the document has a job is the same job.
func TestSpellings(t *testing.T) {
	replace := func(old, with string) string {
		if !strings.Contains(nested, old) {
			t.Fatalf("the document has no %s", old)
		}
		return strings.Replace(nested, old, with, 1)
	}
	flatten := func(change func(map[string]any)) string {
		tree := flat(t)
		change(tree)
		data, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	const list = `[
      {"type": "worker", "count": "2", "resource": {"cpu": "1.500", "memory": "2048Mi", "gpu": "1"}}
    ]`
	cases := map[string]struct{ reason, document string }{
		"nested":      {"answers", nested},
		"flat":        {"requests", flatten(func(map[string]any) {})},
		"name at top": {"beside spec", replace(`"metadata": {"name": "mnist"}`, `"name": "mnist"`)},
		"workerdir":   {"in the examples of single jobs", replace(`"workdir"`, `"workerdir"`)},
		"environment": {"spelt as it is meant", replace(`"enviroment"`, `"environment"`)},
		"environment as an object": {
			"it is typed nowhere", replace(`"EPOCHS=3 GREETING='a b'"`, `{"EPOCHS": 3, "GREETING": "a b"}`),
		},
		"args as one text": {
			"in the examples of single jobs", replace(`["--test=10", "--name=a b"]`, `"--test=10 --name='a b'"`),
		},
		"conut":            {"of the example's ps", replace(`"count"`, `"conut"`)},
		"count as number":  {"it is one", replace(`"2"`, `2`)},
		"gpu as number":    {"it is one", replace(`"1"`, `1`)},
		"cpu as number":    {"it is one", replace(`"1.500"`, `1.5`)},
		"cpu in milli":     {"a quantity", replace(`"1.500"`, `"1500m"`)},
		"type in capitals": {"as Kubeflow has it", replace(`"worker"`, `"WORKER"`)},
		"no type":          {"it is optional", replace(`"type": "worker", `, ``)},
		"object of replicas": {
			"in the examples of single jobs", replace(list, `{"count": "1", "replicas": `+list+`}`),
		},
		"object of replicas that counts ranks": {"or so", replace(list, `{"conut": 2, "replicas": `+list+`}`)},
		"object of replicas without count":     {"in the list's example", replace(list, `{"replicas": `+list+`}`)},
		"flat replicas": {"the create call's table", flatten(func(tree map[string]any) {
			delete(tree, "replicas")
			tree["type"], tree["count"], tree["cpu"], tree["memory"], tree["gpu"] = "worker", "2", "1.5", "2Gi", "1"
		})},
		"flat replicas in spec": {"beside the job's fields, wherever they are", replace(
			`"replicas": `+list, `"type": "worker", "conut": 2, "cpu": "1.5", "memory": "2Gi", "gpu": 1`)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			request, problems := tfjobadmin.Read([]byte(c.document))
			if len(problems) > 0 || len(request.Unknown) > 0 {
				t.Fatalf("%s: %v, unknown %v", c.reason, problems, request.Unknown)
			}
			if request.Name == nil || *request.Name != "mnist" {
				t.Errorf("%s: name %v", c.reason, request.Name)
			}
			if diff := cmp.Diff(mnist(), request.Apply(tfjobadmin.Spec{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestReadRefuses: whatever cannot be understood names the field as it is spelt there, and a remedy.
func TestReadRefuses(t *testing.T) {
	job := func(fields string) string { return `{"name": "a", "bootfile": "/a/b.py", ` + fields + `}` }
	replica := func(fields string) string { return job(`"replicas": [{` + fields + `}]`) }
	cases := map[string]struct{ document, field, detail string }{
		"no JSON":         {`{`, "", "is no JSON"},
		"no object":       {`[]`, "", "is a list"},
		"twice":           {`{"name": "a", "name": "b"}`, "", `duplicate field "name"`},
		"null":            {job(`"workdir": null`), "workdir", "is null"},
		"number for text": {job(`"runtime": 3`), "runtime", "is a number"},
		"NUL":             {job(`"logDir": "/a\u0000"`), "logDir", "NUL"},
		"two spellings": {job(`"workdir": "/a", "workerdir": "/a"`), "workdir",
			"is given together with workerdir"},
		"two environments": {
			job(`"enviroment": "", "environment": ""`), "enviroment", "is given together with environment",
		},
		"spec beside fields": {`{"spec": {}, "args": ""}`, "args", "is given together with spec"},
		"spec is a text":     {`{"spec": "a"}`, "spec", "is a text"},
		"metadata is a list": {`{"metadata": []}`, "metadata", "is a list"},
		"two names": {
			`{"name": "a", "metadata": {"name": "b"}}`, "metadata.name", `the name at the top is "a"`,
		},
		"user is a number":   {`{"metadata": {"uid": 1}}`, "metadata.uid", "is a number"},
		"open quote":         {job(`"args": "--a='b"`), "args", "unterminated single-quoted"},
		"args is an object":  {job(`"args": {}`), "args", "is an object"},
		"args has a list":    {job(`"args": ["a", []]`), "args[1]", "is a list"},
		"args has a NUL":     {job(`"args": ["a\u0000"]`), "args", "NUL"},
		"variable":           {job(`"enviroment": "A"`), "enviroment", `"A" is no NAME=value`},
		"variable twice":     {job(`"enviroment": "A=1 A=2"`), "enviroment", "twice"},
		"variable's quotes":  {job(`"enviroment": "A=\""`), "enviroment", "unterminated double-quoted"},
		"variable's name":    {job(`"enviroment": "A%=1"`), "enviroment", `"A%" is no name of a variable`},
		"variable's value":   {job(`"environment": {"A": []}`), "environment.A", "is a list"},
		"environment's kind": {job(`"environment": 1`), "environment", "is a number"},
		"replicas is a text": {job(`"replicas": "2"`), "replicas", "is a text"},
		"no replicas":        {job(`"replicas": []`), "replicas", "is empty"},
		"object without list": {
			job(`"replicas": {"count": 1}`), "replicas.replicas", "is missing",
		},
		"object in object": {job(`"replicas": {"replicas": {}}`), "replicas.replicas", "is an object"},
		"wrong total": {
			job(`"replicas": {"count": 3, "replicas": [{"count": 2}]}`), "replicas.replicas",
			"the count next to it is 3, but there are 2 ranks of 1 types",
		},
		"replica is a number": {job(`"replicas": [2]`), "replicas[0]", "is a number"},
		"flat beside list":    {job(`"replicas": [{}], "gpu": "1"`), "gpu", "is given together with replicas"},
		"type":                {replica(`"type": "chief"`), "replicas[0].type", `"chief" is no type`},
		"type twice": {
			job(`"replicas": [{}, {"type": "worker"}]`), "replicas[1].type", "worker is given twice",
		},
		"two counts":     {replica(`"count": 1, "conut": 1`), "replicas[0].count", "is given together with conut"},
		"count":          {replica(`"count": "two"`), "replicas[0].count", `"two" is no whole number`},
		"negative count": {replica(`"conut": -1`), "replicas[0].conut", `"-1" is no whole number`},
		"too many":       {replica(`"count": 10001`), "replicas[0].count", "from 0 to 10000"},
		"flat count":     {job(`"count": 1.5`), "count", `"1.5" is no whole number`},
		"resource":       {replica(`"resource": []`), "replicas[0].resource", "is a list"},
		"half a GPU": {
			replica(`"resource": {"gpu": "0.5"}`), "replicas[0].resource.gpu", `"0.5" is no whole`,
		},
		"unit": {
			replica(`"resource": {"memory": "2048MB"}`), "replicas[0].resource.memory", `"2048MB" is no quantity`,
		},
		"takes seconds to parse": {
			replica(`"resource": {"cpu": "1e10000000"}`), "replicas[0].resource.cpu", "no quantity from 0 to 1M",
		},
		"negative":   {replica(`"resource": {"cpu": "-1"}`), "replicas[0].resource.cpu", `"-1" is no quantity`},
		"too fine":   {replica(`"resource": {"cpu": "0.0001"}`), "replicas[0].resource.cpu", "too fine"},
		"half bytes": {replica(`"resource": {"memory": "0.5"}`), "replicas[0].resource.memory", "too fine"},
		"too large":  {replica(`"resource": {"memory": "2Ei"}`), "replicas[0].resource.memory", "from 0 to 1Ei"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, problems := tfjobadmin.Read([]byte(c.document))
			if len(problems) != 1 {
				t.Fatalf("want one problem, got %v", problems)
			}
			p := problems[0]
			if p.Field != c.field || !strings.Contains(p.Detail, c.detail) || p.Remedy == "" {
				t.Errorf("got %+v, want field %q and %q", p, c.field, c.detail)
			}
		})
	}
}

// TestReadNotes: what is left out is listed.
func TestReadNotes(t *testing.T) {
	request, problems := tfjobadmin.Read([]byte(`{"metadata": {"name": "a", "creationTime": "x", "color": 1},
		"spec": {"bootfile": "b", "images": "c", "replicas": [{"resource": {"tpu": 1}, "cpu": 1}]},
		"status": {"phase": "running"}, "kind": "x"}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var unknown, readOnly []string
	for _, at := range request.Unknown {
		unknown = append(unknown, at.String())
	}
	for _, at := range request.ReadOnly {
		readOnly = append(readOnly, at.String())
	}
	wantUnknown := []string{
		"metadata.color", "kind", "spec.replicas[0].cpu", "spec.replicas[0].resource.tpu", "spec.images",
	}
	if diff := cmp.Diff(wantUnknown, unknown); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"metadata.creationTime", "status"}, readOnly); diff != "" {
		t.Errorf("read-only (-want +got):\n%s", diff)
	}
}

// TestApply: a request changes what it says, and replicas by their type.
func TestApply(t *testing.T) {
	request, problems := tfjobadmin.Read([]byte(`{"description": "", "args": [], "enviroment": "",
		"replicas": [{"type": "ps"}, {"count": 3, "resource": {"gpu": 0}}]}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := mnist()
	want.Description, want.Args, want.Environment = "", []string{}, tfjobadmin.Environment{}
	want.Replicas[0].Count, want.Replicas[0].Resource.GPU = 3, 0
	want.Replicas = append(want.Replicas, tfjobadmin.Replica{Type: tfjobadmin.TypePS, Count: 1})
	before := mnist()
	if diff := cmp.Diff(want, request.Apply(before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(mnist(), before); diff != "" {
		t.Errorf("the spec itself has changed (-want +got):\n%s", diff)
	}
}

// TestAt: a field that a request does not have is named in the request's own form.
func TestAt(t *testing.T) {
	for document, want := range map[string]string{
		`{"spec": {"workerdir": "/a"}}`: "spec.workerdir spec.bootfile metadata.name",
		`{"workerdir": "/a"}`:           "workerdir bootfile name",
	} {
		request, problems := tfjobadmin.Read([]byte(document))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		got := make([]string, 0, 3)
		for _, name := range []string{"spec.workdir", "spec.bootfile", "metadata.name"} {
			got = append(got, request.At(name).String())
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", document, diff)
		}
	}
}
