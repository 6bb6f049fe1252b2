package corpus

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/test/api/judge"
)

// file of testdata: the cases of one subject.
type file struct {
	// By is who refuses or warns of the cases that do not say otherwise.
	By string `json:"by"`
	// Cases as they are written; see Case.
	Cases []json.RawMessage `json:"cases"`
}

// Case is a job and what is answered to it.
type Case struct {
	Name string `json:"name"`
	// Base is the job that is changed, in testdata/bases.yaml: simple (the default), full or none.
	Base string `json:"base"`
	// With is merged into the base (RFC 7386); Worker into the pod spec of its Workers, and Container into their
	// one container.
	With, Worker, Container map[string]any
	// Many adds elements to lists.
	Many []many `json:"many"`
	// Phase makes it an update of a job in this phase, which was the base with Was merged into it.
	Phase string         `json:"phase"`
	Was   map[string]any `json:"was"`
	// Each are values: there is a case for each of them, which stands in the place of $each.
	Each []any `json:"each"`

	// Namespace of testdata/bases.yaml; default by default.
	Namespace string `json:"namespace"`
	// User who asks, who may use what Uses lists, as resource/name.
	User string   `json:"user"`
	Uses []string `json:"uses"`
	// Params in the place of those that stand in the policy's file.
	Params map[string]string `json:"params"`

	// By names what refuses the job or warns of it: crd, or a policy without the prefix "trainingjob-" and its
	// domain. "-": the job is accepted.
	By string `json:"by"`
	// Says is part of that answer.
	Says string `json:"says"`
	// Operator is part of the operator's answer, which is Says where this is absent, and "-" where the spec
	// makes sense to it: what only a policy forbids, and changes of a job that exists.
	Operator *string `json:"operator"`
	// Rows of testdata/threats.yaml that it is about.
	Rows []string `json:"rows"`
}

// many elements are added to a list, or entries to a map.
type many struct {
	// At is the path of the list, with a slash between its names. It is a map's where Key is given.
	At    string `json:"at"`
	Key   string `json:"key"`
	Count int    `json:"count"`
	// Of is an element; it and Key have its number in the place of %d, and Long characters in that of %long.
	Of   any `json:"of"`
	Long int `json:"long"`
}

// bases are the jobs and namespaces that cases name.
type bases struct {
	Jobs       map[string]map[string]any   `json:"jobs"`
	Namespaces map[string]corev1.Namespace `json:"namespaces"`
}

func readBases(t testing.TB) bases {
	t.Helper()
	var b bases
	readYAML(t, "testdata/bases.yaml", &b)
	return b
}

func readYAML(t testing.TB, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = yaml.UnmarshalStrict(data, into)
	}
	if err != nil {
		t.Fatalf("reading %s: %v", path, err)
	}
}

// readCases reads the whole corpus, by name.
func readCases(t testing.TB) map[string]Case {
	t.Helper()
	paths, err := filepath.Glob("testdata/cases/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	all := map[string]Case{}
	for _, path := range paths {
		var f file
		readYAML(t, path, &f)
		subject := strings.TrimSuffix(filepath.Base(path), ".yaml")
		for _, raw := range f.Cases {
			for _, c := range expand(t, raw) {
				if c.By == "" {
					c.By = f.By
				}
				c.Name = subject + "/" + c.Name
				if _, twice := all[c.Name]; twice || c.By == "" || c.By != "-" && c.Says == "" {
					t.Fatalf("%s: every case needs a unique name, \"by\" and, if it is refused, \"says\"", c.Name)
				}
				all[c.Name] = c
			}
		}
	}
	return all
}

// expand a case into one for each of its values.
func expand(t testing.TB, raw json.RawMessage) []Case {
	t.Helper()
	var one struct {
		Each []any `json:"each"`
	}
	if err := json.Unmarshal(raw, &one); err != nil {
		t.Fatal(err)
	}
	if len(one.Each) == 0 {
		return []Case{decode(t, raw)}
	}
	var all []Case
	for _, value := range one.Each {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		plain := strings.Trim(string(text), `"`)
		replaced := bytes.ReplaceAll(raw, []byte(`"$each"`), text)
		replaced = bytes.ReplaceAll(replaced, []byte("$each"), []byte(plain))
		c := decode(t, replaced)
		c.Name += fmt.Sprintf(" (%.40s)", plain)
		all = append(all, c)
	}
	return all
}

func decode(t testing.TB, raw []byte) Case {
	t.Helper()
	var c Case
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return c
}

// objects returns the new and the current job of a case; the latter is nil for a creation.
func (c Case) objects(t testing.TB, b bases) (object, old map[string]any) {
	t.Helper()
	base, ok := b.Jobs[cmp.Or(c.Base, "simple")]
	if !ok {
		t.Fatalf("%s: no base %s", c.Name, c.Base)
	}
	object = merge(copied(t, base), c.Was)
	namespace := map[string]any{"namespace": cmp.Or(c.Namespace, "default")}
	object = merge(object, map[string]any{"metadata": namespace})
	status := map[string]any{"status": map[string]any{"phase": c.Phase}}
	if c.Phase != "" {
		old = merge(copied(t, object), status)
	}
	object = merge(object, c.With)
	if c.Worker != nil {
		object = merge(object, worker(c.Worker))
	}
	if c.Container != nil {
		trainer := map[string]any{"name": "pytorch", "image": "trainer:1", "command": []any{"train"}}
		object = merge(object, worker(map[string]any{"containers": []any{merge(trainer, c.Container)}}))
	}
	for _, m := range c.Many {
		m.addTo(t, object)
	}
	if c.Phase != "" {
		object = merge(object, status)
	}
	return copied(t, object), old
}

func worker(pod map[string]any) map[string]any {
	for _, key := range []string{"spec", "template", "Worker", "replicaSpecs", "spec"} {
		pod = map[string]any{key: pod}
	}
	return pod
}

// merge a patch into an object (RFC 7386).
func merge(object, patch map[string]any) map[string]any {
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		switch below, ok := object[key].(map[string]any); {
		case value == nil:
			delete(object, key)
		case isMap && ok:
			object[key] = merge(below, inner)
		case isMap:
			object[key] = merge(map[string]any{}, inner)
		default:
			object[key] = value
		}
	}
	return object
}

func (m many) addTo(t testing.TB, object map[string]any) {
	t.Helper()
	path := strings.Split(m.At, "/")
	for _, key := range path[:len(path)-1] {
		if _, ok := object[key].(map[string]any); !ok {
			object[key] = map[string]any{}
		}
		object = object[key].(map[string]any)
	}
	last := path[len(path)-1]
	element, err := json.Marshal(m.Of)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", m.Long)
	for i := range m.Count {
		with := strings.NewReplacer("%d", fmt.Sprint(i), "%long", long)
		var value any
		if err := json.Unmarshal([]byte(with.Replace(string(element))), &value); err != nil {
			t.Fatal(err)
		}
		if m.Key == "" {
			list, _ := object[last].([]any)
			object[last] = append(list, value)
			continue
		}
		entries, ok := object[last].(map[string]any)
		if !ok {
			entries = map[string]any{}
			object[last] = entries
		}
		entries[with.Replace(m.Key)] = value
	}
}

// copied is a copy of an object, with its whole numbers as int64, as the API server's decoder has them.
func copied(t testing.TB, object map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var other map[string]any
	if err := utiljson.Unmarshal(text, &other); err != nil {
		t.Fatal(err)
	}
	return other
}

// request of a case for a policy.
func (c Case) request(t testing.TB, b bases) judge.Request {
	t.Helper()
	r := judge.Request{User: c.User}
	r.Object, r.Old = c.objects(t, b)
	name := cmp.Or(c.Namespace, "default")
	namespace, ok := b.Namespaces[name]
	if !ok {
		t.Fatalf("%s: no namespace %s", c.Name, name)
	}
	namespace.Name = name
	r.Namespace = &namespace
	r.Rights = func(a authorizer.Attributes) bool {
		for _, use := range c.Uses {
			if a.GetVerb() == "use" && a.GetUser().GetName() == c.User && use == a.GetResource()+"/"+a.GetName() {
				return true
			}
		}
		return false
	}
	return r
}

// job returns the job of a case as the operator reads it, or an error if it cannot be decoded.
func (c Case) job(t testing.TB, b bases) (*v1alpha1.TrainingJob, error) {
	t.Helper()
	object, _ := c.objects(t, b)
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	job := &v1alpha1.TrainingJob{}
	err = json.Unmarshal(text, job)
	return job, err
}
