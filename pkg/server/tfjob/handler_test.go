package tfjob_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/tfjob"
)

var update = flag.Bool("update", false, "write testdata instead of comparing with it")

// jobs is the path of the partition that most requests are about.
const jobs = "/api/v1alpha1/clusters/default/partitions/clever/tfjobs"

// documented are the request and the configuration of docs/tfjob.md.
func documented(t testing.TB) (body string, config tfjob.Config) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/tfjob.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(language string) string {
		_, rest, found := strings.Cut(string(page), "```"+language+"\n")
		block, _, closed := strings.Cut(rest, "```\n")
		if !found || !closed {
			t.Fatalf("docs/tfjob.md has no block of %s", language)
		}
		return block
	}
	_, body, _ = strings.Cut(block("http"), "\n\n")
	var file struct {
		TFJob tfjob.Config `json:"tfjob"`
	}
	file.TFJob = tfjob.Default()
	if err := yaml.UnmarshalStrict([]byte(block("yaml")), &file); err != nil {
		t.Fatal(err)
	}
	return body, file.TFJob
}

var errNotFound = errors.New("no such record")

// past is a history in memory.
type past struct {
	records []history.Record
	err     error
}

func (p *past) Ping(context.Context) error { return p.err }

func (p *past) find(match func(history.Job) bool) (history.Record, error) {
	for _, r := range p.records {
		if match(r.Job) {
			return r, p.err
		}
	}
	return history.Record{}, cmp.Or(p.err, fmt.Errorf("reading: %w", errNotFound))
}

func (p *past) Job(_ context.Context, key history.Key) (history.Record, error) {
	return p.find(func(j history.Job) bool { return j.Key == key })
}
func (p *past) JobNamed(_ context.Context, cluster, namespace, name string) (history.Record, error) {
	return p.find(func(j history.Job) bool {
		return j.Cluster == cluster && j.Namespace == namespace && j.Name == name
	})
}

// oneClient is what everybody gets.
type oneClient struct {
	client client.WithWatch
	err    error
}

func (oneClient) Names() []string { return []string{"default", "other"} }
func (a oneClient) As(string, identity.Identity) (client.WithWatch, *rest.Config, error) {
	return a.client, nil, a.err
}

// fixture is a Handler over an API server in memory, which numbers the UIDs of jobs.
type fixture struct {
	*http.ServeMux
	options tfjob.Options
	access  *oneClient
	past    *past
	client  client.WithWatch
}

func newFixture(t testing.TB, c tfjob.Config) *fixture {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	made := 0
	f := &fixture{past: &past{}}
	f.client = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).
		WithStatusSubresource(&v1alpha1.TrainingJob{}).Build(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			made++
			o.SetUID(types.UID(fmt.Sprintf("%08d-0000-0000-0000-000000000000", made)))
			o.SetCreationTimestamp(metav1.Time{Time: time.Date(2026, 11, 25, 10, made, 0, 0, time.UTC)})
			return c.Create(ctx, o, opts...)
		},
	})
	f.access = &oneClient{client: f.client}
	f.options = tfjob.Options{
		Config: c, Access: f.access, History: f.past, NotFound: errNotFound, Version: "v1.0.0", Fail: fail,
		Namespace: func(_, name string) (history.Namespace, bool) {
			return history.Namespace{Name: name, UID: "now"}, true
		},
	}
	f.ServeMux = http.NewServeMux()
	tfjob.New(f.options).Register(f.ServeMux)
	return f
}

// mayNotAct is an error of Access.
type mayNotAct struct{}

func (mayNotAct) Error() string { return "may not act" }
func (mayNotAct) Status() int   { return http.StatusTeapot }

// fail writes problems as the server does.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, mayNotAct{}) {
		err = problem.ForStatus(mayNotAct{}.Status(), err.Error(), "")
	}
	problem.Write(w, r, err)
}

const eve = "oidc:eve"

// as is a request of a user.
func as(user string, r *http.Request) *http.Request {
	return r.WithContext(identity.NewContext(r.Context(), identity.Identity{Name: user}))
}

// send a request of eve's with a body of JSON, or without one.
func send(handler http.Handler, method, path, body string) *httptest.ResponseRecorder {
	return sendAs(eve, handler, method, path, body)
}
func sendAs(user string, handler http.Handler, method, path, body string) *httptest.ResponseRecorder {
	request := as(user, httptest.NewRequest(method, path, strings.NewReader(body)))
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

// tell writes a request and its answer.
func tell(t *testing.T, b *strings.Builder, f *fixture, reason, method, path, body string) {
	t.Helper()
	answer := send(f, method, path, body)
	fmt.Fprintf(b, "# %s\n%s %s\n", reason, method, path)
	if body != "" {
		fmt.Fprintf(b, "%s\n", strings.TrimSpace(body))
	}
	fmt.Fprintf(b, "=> %d %s\n", answer.Code, answer.Header().Get("Content-Type"))
	for _, name := range []string{"Allow", "Warning"} {
		for _, value := range answer.Header().Values(name) {
			fmt.Fprintf(b, "%s: %s\n", name, value)
		}
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, answer.Body.Bytes(), "", "  "); err != nil {
		t.Errorf("%s %s: %v: %s", method, path, err, answer.Body)
	}
	fmt.Fprintf(b, "%s\n", indented.String())
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

const firstID = "mnist.00000001-0000-0000-0000-000000000000"

// TestConversation plays the life of a job with a client, and compares the responses with
// testdata/conversation.txt.
func TestConversation(t *testing.T) {
	body, config := documented(t)
	f := newFixture(t, config)
	var b strings.Builder
	say := func(reason, method, path, body string) { tell(t, &b, f, reason, method, path, body) }
	say("which server", "GET", "/api/version", "")
	say("is it there", "GET", "/api/ping", "")
	say("nothing yet", "GET", jobs, "")
	say("the documented job", "POST", jobs, body)
	say("its name is taken", "POST", jobs, body)
	say("by its id", "GET", jobs+"/"+firstID, "")
	say("by the other names", "GET", strings.Replace(jobs, "v1alpha1", "v1alpha2", 1)[:len(jobs)-6]+
		"tfservings/mnist", "")
	say("the flat form", "POST", jobs[:len(jobs)-1], `{"name": "flat", "runtime": "python2.7 + tensorflow 1.2.1",
  "bootfile": "train.py", "args": "-a 'b c'", "enviroment": "", "cpu": "1", "memory": "1Gi", "gpu": "0"}`)
	say("the youngest first", "GET", jobs+"?limit=1", "")
	say("and then", "GET", jobs+"?start=1", "")
	say("behind the end", "GET", jobs+"?start=7", "")
	say("what it was answered, sent back", "PATCH", jobs+"/"+firstID, sentBack(t, f))
	say("changes", "PATCH", jobs+"/mnist", `{"conut": 3, "description": "", "args": "--test=11", "logDir":
  "/clever/logs", "checkpointDir": "/clever/admin"}`)
	say("gone", "DELETE", jobs+"/"+firstID, "")
	say("not twice", "DELETE", jobs+"/"+firstID, "")
	golden(t, "testdata/conversation.txt", b.String())
}

// sentBack is a document as a client got it, with one change.
func sentBack(t *testing.T, f *fixture) string {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(send(f, "GET", jobs+"/mnist", "").Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	doc["spec"].(map[string]any)["description"] = "numerals"
	data, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestProblems plays requests that are refused, and compares the responses with testdata/problems.txt.
func TestProblems(t *testing.T) {
	body, config := documented(t)
	config.Maximums = tfjob.Maximums{Replicas: 4, GPUs: 2, ListItems: 10}
	f := newFixture(t, config)
	if answer := send(f, "POST", jobs, body); answer.Code != http.StatusOK {
		t.Fatal(answer.Body)
	}
	kubectl := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "kubectl", Namespace: "clever"}}
	if err := f.client.Create(t.Context(), kubectl); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	say := func(reason, method, path, body string) { tell(t, &b, f, reason, method, path, body) }
	job := func(fields string) string {
		return `{"name": "b", "runtime": "Python_2.7+Tensorflow_1.2.1", "bootfile": "a.py", ` + fields + `}`
	}
	say("an unknown cluster", "GET", strings.Replace(jobs, "default", "moon", 1), "")
	say("no namespace", "GET", strings.Replace(jobs, "clever", "A_B", 1), "")
	say("a method that the path has not", "PUT", jobs, "{}")
	say("a parameter that the list has not", "GET", jobs+"?page=2", "")
	say("a page beyond the maximum", "GET", jobs+"?limit=11", "")
	say("no JSON", "POST", jobs, "x")
	say("an unknown field", "POST", jobs, job(`"images": "a", "count": 1`))
	say("several things", "POST", jobs, `{"spec": {"runtime": "Caffe", "workdir": "/home", "replicas": [{}]}}`)
	say("no runtime", "POST", jobs, `{"name": "b", "bootfile": "a.py", "count": 1}`)
	say("another partition", "POST", jobs, job(`"partition": "dull", "count": 1`))
	say("another user", "POST", jobs, `{"metadata": {"name": "b", "uid": "oidc:bob"}, "spec": {
  "bootfile": "a.py", "runtime": "Python_2.7+Tensorflow_1.2.1", "count": 1}}`)
	say("too many ranks", "POST", jobs, job(`"count": 5`))
	say("too many GPUs", "POST", jobs, job(`"count": 3, "gpu": 1`))
	say("a partition without a claim", "POST", strings.Replace(jobs, "clever", "dull", 1),
		job(`"logDir": "/clever/logs", "count": 1`))
	reserved := job(`"count": 1, "environment": {"TF_CONFIG": "{}"}`)
	say("the API's own rules", "POST", jobs, strings.Replace(reserved, `"b"`, `"4you"`, 1))
	say("only servers", "POST", jobs, job(`"type": "ps"`))
	say("no such job", "GET", jobs+"/unknown", "")
	say("another job of the name", "GET", jobs+"/mnist.99999999-0000-0000-0000-000000000000", "")
	say("another name", "PATCH", jobs+"/mnist", `{"name": "c"}`)
	say("another runtime", "PATCH", jobs+"/mnist", `{"runtime": "Caffe"}`)
	say("too much for a change", "PATCH", jobs+"/mnist", `{"conut": 9}`)
	say("not made here", "PATCH", jobs+"/kubectl", `{"count": 2}`)
	golden(t, "testdata/problems.txt", b.String())
}

// TestContentType: what is no JSON is not read, so that no page's form can send it.
func TestContentType(t *testing.T) {
	body, config := documented(t)
	f := newFixture(t, config)
	for kind, want := range map[string]int{
		"application/json; charset=utf-8":   http.StatusOK,
		"application/x-www-form-urlencoded": http.StatusUnsupportedMediaType,
		"text/plain":                        http.StatusUnsupportedMediaType,
		"":                                  http.StatusUnsupportedMediaType,
	} {
		request := as(eve, httptest.NewRequest("POST", jobs, strings.NewReader(body)))
		request.Header.Set("Content-Type", kind)
		answer := httptest.NewRecorder()
		f.ServeHTTP(answer, request)
		if answer.Code != want {
			t.Errorf("%q is answered with %d, want %d: %s", kind, answer.Code, want, answer.Body)
		}
	}
	large := `{"description": "` + strings.Repeat("a", 1<<20) + `"}`
	if answer := send(f, "POST", jobs, large); answer.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a large document is answered with %d: %s", answer.Code, answer.Body)
	}
}

// TestEveryPath: both versions, and all names of the collection and of single jobs.
func TestEveryPath(t *testing.T) {
	body, config := documented(t)
	f := newFixture(t, config)
	if answer := send(f, "POST", jobs, body); answer.Code != http.StatusOK {
		t.Fatal(answer.Body)
	}
	for _, version := range []string{"v1alpha1", "v1alpha2"} {
		at := "/api/" + version + "/clusters/default/partitions/clever/"
		for path, want := range map[string]int{
			"tfjobs": 200, "tfjob": 200, "tfservings": 404, "tfjobs/mnist": 200, "tfjob/mnist": 200,
			"tfservings/mnist": 200,
		} {
			if answer := send(f, "GET", at+path, ""); answer.Code != want {
				t.Errorf("%s is answered with %d, want %d", at+path, answer.Code, want)
			}
		}
	}
}

// TestFailures: failures behind the handler are reported as such.
func TestFailures(t *testing.T) {
	_, config := documented(t)
	f := newFixture(t, config)
	want := func(reason, path string, code int, says, not string) {
		t.Helper()
		answer := send(f, "GET", path, "")
		body := answer.Body.String()
		if answer.Code != code || !strings.Contains(body, says) || not != "" && strings.Contains(body, not) {
			t.Errorf("%s: %d %s", reason, answer.Code, body)
		}
	}
	f.past.err = errors.New("disk on fire")
	want("a ping", "/api/ping", 503, "unreadable", "fire")
	want("a job of the history", jobs+"/gone", 503, "the history cannot be read", "fire")
	f.access.err = mayNotAct{}
	want("without a client", jobs, 418, "may not act", "")
	anonymous := httptest.NewRecorder()
	if f.ServeHTTP(anonymous, httptest.NewRequest("GET", jobs,
		nil)); anonymous.Code != http.StatusUnauthorized {
		t.Errorf("without a caller: %d %s", anonymous.Code, anonymous.Body)
	}
	f.access.err, f.access.client = nil, interceptor.NewClient(f.client, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no route")
		},
	})
	want("an API server that is away", jobs, 502, "cluster default does not respond", "no route")
	f.access.client = interceptor.NewClient(f.client, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return fmt.Errorf("getting: %w", mayNotAct{})
		},
	})
	want("what Access finds out by a call", jobs+"/mnist", 418, "may not act", "bad gateway")
}
