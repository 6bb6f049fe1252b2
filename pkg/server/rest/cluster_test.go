//go:build cluster

package rest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/queues"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const namespace, account = "trainingjob-system", "trainingjob-server"

// TestCluster: what the API does to a real API server, with the rights that ship, and no other.
func TestCluster(t *testing.T) {
	c, err := harness.Start(t.Context(), harness.Options{
		Root: "../../..", AddToScheme: []func(*runtime.Scheme) error{queues.AddToScheme},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	r := &real{server: &server{t: t, past: &past{}}, cluster: c}
	r.people(t)
	r.serve(t, r.own(t))
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"create", r.create}, {"rights", r.rights}, {"invalid", r.invalid}, {"warnings", r.warnings},
		{"change", r.change}, {"preconditions", r.preconditions}, {"events", r.changes},
		{"logs", r.rankLogs}, {"queues", r.quotas}, {"delete", r.remove},
	} {
		t.Run(test.name, test.run)
	}
}

// real is a Server of a cluster.
type real struct {
	*server
	cluster *harness.Cluster
}

func (r *real) create(t *testing.T) {
	dry := r.do(request{method: "POST", path: teamA + "?dryRun=All", body: manifest("dry")})
	if dry.StatusCode != http.StatusCreated || r.now(t, "dry") != nil {
		t.Errorf("a dry run: %d %s", dry.StatusCode, dry.body)
	}
	job := r.job(t, "first")
	if by := r.now(t, "first").ManagedFields[0].Manager; by != string(fieldOwner) {
		t.Errorf("it is %s's", by)
	}
	harness.Until(t, "the list has it", func(context.Context) (string, error) {
		var got list
		r.do(request{path: "trainingjobs", user: "bob"}).decode(t, http.StatusOK, &got)
		if got.names() == "team-a/first" && got.Items[0].UID == job.UID {
			return "", nil
		}
		return got.names(), nil
	})
}

// rights: each user gets the same errors as from kubectl.
func (r *real) rights(t *testing.T) {
	as := rest.CopyConfig(r.cluster.RESTConfig())
	for _, user := range []string{"bob", "eve"} {
		as.Impersonate = rest.ImpersonationConfig{UserName: "oidc:" + user}
		direct, err := client.New(as, client.Options{Scheme: r.cluster.Client.Scheme()})
		if err != nil {
			t.Fatal(err)
		}
		first := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "first"}}
		fresh := first.DeepCopy()
		fresh.Name, fresh.Spec = "fresh", v1alpha1.TrainingJobSpec{Framework: "custom"}
		empty := client.RawPatch("application/merge-patch+json", []byte("{}"))
		for name, c := range map[string]struct {
			request
			direct func() error
		}{
			"get": {request{path: teamA + "/first"}, func() error {
				return direct.Get(t.Context(), client.ObjectKeyFromObject(first), first.DeepCopy())
			}},
			"list": {request{path: teamA}, func() error {
				return direct.List(t.Context(), &v1alpha1.TrainingJobList{}, client.InNamespace("team-a"))
			}},
			"list elsewhere": {request{path: "namespaces/team-b/trainingjobs"}, func() error {
				return direct.List(t.Context(), &v1alpha1.TrainingJobList{}, client.InNamespace("team-b"))
			}},
			"create": {request{method: "POST", path: teamA, body: manifest("fresh")}, func() error {
				return direct.Create(t.Context(), fresh)
			}},
			"patch": {request{method: "PATCH", path: teamA + "/first", body: "{}", headers: []string{merge}},
				func() error { return direct.Patch(t.Context(), first.DeepCopy(), empty) }},
			"suspend": {request{method: "POST", path: teamA + "/first/suspend"}, func() error {
				if err := direct.Get(t.Context(), client.ObjectKeyFromObject(first), first.DeepCopy()); err != nil {
					return err
				}
				return direct.Patch(t.Context(), first.DeepCopy(), empty)
			}},
			"delete": {request{method: "DELETE", path: teamA + "/first"}, func() error {
				return direct.Delete(t.Context(), first.DeepCopy())
			}},
		} {
			c.user = user
			got, want := r.do(c.request), c.direct()
			if want == nil {
				if got.StatusCode != http.StatusOK {
					t.Errorf("%s may %s, but: %d %s", user, name, got.StatusCode, got.body)
				}
				continue
			}
			if p := got.problem(t); p.Status != http.StatusForbidden || p.Detail != want.Error() {
				t.Errorf("%s gets for %s\n%s, want\n%v", user, name, got.body, want)
			}
		}
	}
	var none list
	r.do(request{path: "trainingjobs", user: "eve"}).decode(t, http.StatusOK, &none)
	if len(none.Items) > 0 {
		t.Errorf("eve sees %s", none.names())
	}
}

// invalid: the rules of the API name the field, and say what to do.
func (r *real) invalid(t *testing.T) {
	got := r.do(request{method: "POST", path: teamA, body: strings.Replace(manifest("bad"), `"replicas":2`,
		`"replicas":2,"runPolicy":{"schedulingPolicy":{"minAvailable":9}}`, 1)})
	if p := got.problem(t); p.Type != problem.Invalid.URI || p.Field == "" || p.Remedy == "" ||
		!strings.Contains(p.Detail, "9") {
		t.Errorf("%s", got.body)
	}
	unknown := r.do(request{method: "PATCH", path: teamA + "/first", body: `{"spec":{"replica":1}}`,
		headers: []string{merge}})
	if p := unknown.problem(t); p.Type != problem.Malformed.URI || p.Field != "spec.replica" {
		t.Errorf("a field of a patch that does not exist: %s", unknown.body)
	}
}

// warnings of the cluster are passed on.
func (r *real) warnings(t *testing.T) {
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "warns"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionregistrationv1.RuleWithOperations{
						Operations: []admissionregistrationv1.OperationType{"CREATE"},
						Rule: admissionregistrationv1.Rule{
							APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{"*"},
							Resources: []string{"trainingjobs"},
						},
					},
				}},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "object.metadata.name != 'warned'", Message: "think twice",
			}},
		},
	}
	r.make(t, policy)
	r.make(t, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "warns"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "warns", ValidationActions: []admissionregistrationv1.ValidationAction{"Warn"},
		},
	})
	harness.Until(t, "the policy warns", func(context.Context) (string, error) {
		got := r.do(request{method: "POST", path: teamA + "?dryRun=All", body: manifest("warned")})
		if strings.Contains(got.Header.Get("Warning"), "think twice") {
			return "", nil
		}
		return fmt.Sprint(got.StatusCode, got.Header), nil
	})
}

func (r *real) change(t *testing.T) {
	r.job(t, "changed")
	for _, c := range []struct{ contentType, body string }{
		{merge, `{"spec":{"replicas":3}}`},
		{jsonP,
			`[{"op":"test","path":"/spec/replicas","value":2},{"op":"replace","path":"/spec/replicas","value":3}]`},
	} {
		dry := r.do(request{method: "PATCH", path: teamA + "/changed?dryRun=All", body: c.body,
			headers: []string{c.contentType}})
		var reported v1alpha1.TrainingJob
		dry.decode(t, http.StatusOK, &reported)
		if is := *r.now(t, "changed").Spec.Replicas; *reported.Spec.Replicas != 3 || is != 2 {
			t.Errorf("a dry run says %d, and there are %d", *reported.Spec.Replicas, is)
		}
		r.do(request{method: "PATCH", path: teamA + "/changed", body: c.body, headers: []string{c.contentType}}).
			decode(t, http.StatusOK, &reported)
		if is := *r.now(t, "changed").Spec.Replicas; is != 3 {
			t.Errorf("%s: %d", c.contentType, is)
		}
		r.do(request{method: "PATCH", path: teamA + "/changed", body: `{"spec":{"replicas":2}}`,
			headers: []string{merge}}).decode(t, http.StatusOK, &reported)
	}
	for action, done := range map[string]func(*v1alpha1.TrainingJob) bool{
		"suspend": func(j *v1alpha1.TrainingJob) bool { return *j.Spec.RunPolicy.Suspend },
		"restart": func(j *v1alpha1.TrainingJob) bool { return j.Annotations[v1alpha1.AnnotationRestart] != "" },
	} {
		r.job(t, action)
		if got := r.do(request{method: "POST", path: teamA + "/" + action + "/" + action}); got.StatusCode != 200 ||
			!done(r.now(t, action)) {
			t.Errorf("%s: %d %s", action, got.StatusCode, got.body)
		}
	}
	if got := r.do(request{method: "POST", path: teamA + "/suspend/resume"}); got.StatusCode != 200 ||
		*r.now(t, "suspend").Spec.RunPolicy.Suspend {
		t.Errorf("resume: %d %s", got.StatusCode, got.body)
	}
	same := r.do(request{method: "POST", path: teamA + "/suspend/resume"}) // a second time
	if same.StatusCode != 200 {
		t.Errorf("resume again: %d %s", same.StatusCode, same.body)
	}
}

// preconditions that do not hold change nothing, whatever the change.
func (r *real) preconditions(t *testing.T) {
	job := r.job(t, "only")
	current := etag(job)
	for name, tag := range map[string]string{
		"another version": fmt.Sprintf(`"%s/1"`, job.UID), "an old version": `"1"`,
		"another job": fmt.Sprintf(`"00000000-0000-0000-0000-000000000000/%s"`, job.ResourceVersion),
		"another UID": `"00000000-0000-0000-0000-000000000000"`,
	} {
		for change, c := range map[string]request{
			"merge": {method: "PATCH", path: teamA + "/only", body: `{"spec":{"replicas":3}}`,
				headers: []string{merge}},
			"json": {method: "PATCH", path: teamA + "/only", headers: []string{jsonP},
				body: `[{"op":"replace","path":"/spec/replicas","value":3}]`},
			"suspend": {method: "POST", path: teamA + "/only/suspend"},
			"delete":  {method: "DELETE", path: teamA + "/only"},
		} {
			c.headers = append(c.headers, "If-Match: "+tag)
			got := r.do(c)
			if p := got.problem(t); p.Type != problem.PreconditionFailed.URI {
				t.Errorf("%s of %s: %s", change, name, got.body)
			}
		}
	}
	if is := r.now(t, "only"); is == nil || etag(is) != current {
		t.Errorf("it has changed: %+v", is)
	}
	stale := r.do(request{method: "PATCH", path: teamA + "/only", headers: []string{merge},
		body: `{"metadata":{"resourceVersion":"1"},"spec":{"replicas":3}}`})
	if p := stale.problem(t); p.Type != problem.Conflict.URI {
		t.Errorf("a version in the patch: %s", stale.body)
	}
	for _, tag := range []string{current, ""} {
		c := request{method: "PATCH", path: teamA + "/only", headers: []string{merge},
			body: `{"spec":{"replicas":4}}`}
		if tag != "" {
			c.headers = append(c.headers, "If-Match: "+tag)
		}
		if got := r.do(c); got.StatusCode != http.StatusOK {
			t.Errorf("If-Match %s: %d %s", tag, got.StatusCode, got.body)
		}
	}
}

// changes come as they happen, and none is missed by who connects again.
func (r *real) changes(t *testing.T) {
	stream := r.messages("events?namespace=team-a&name=seen", "bob")
	stream.expect("reset {}", "synced {}")
	r.job(t, "seen")
	stream.expect("added seen")
	last := stream.id
	r.do(request{method: "POST", path: teamA + "/seen/suspend"})
	stream.expect("modified seen")
	r.do(request{method: "DELETE", path: teamA + "/seen"})
	stream.expect("deleted seen")
	again := r.messages("events?namespace=team-a&name=seen", "bob", "Last-Event-ID: "+last)
	again.expect("modified seen", "deleted seen", "synced {}")
}

// kubelet is one that knows logs alone. It writes a line, and continues when the test lets it.
type kubelet struct{ more chan string }

func (k kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%s %s\n", r.URL.Path, r.URL.RawQuery)
	_ = http.NewResponseController(w).Flush()
	if r.URL.Query().Get("follow") != "true" {
		return
	}
	for line := range k.more {
		fmt.Fprintln(w, line)
		_ = http.NewResponseController(w).Flush()
	}
}

func (r *real) rankLogs(t *testing.T) {
	k := kubelet{make(chan string)}
	listener := httptest.NewTLSServer(k)
	t.Cleanup(listener.Close)
	host, port, err := net.SplitHostPort(listener.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "logs"}}
	r.make(t, node)
	made := node.DeepCopy()
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(number)
	// Not an update: the cluster's own controllers write to a new node too.
	if err := r.cluster.Client.Status().Patch(t.Context(), node, client.MergeFrom(made)); err != nil {
		t.Fatal(err)
	}
	job := r.job(t, "logged")
	if got := r.do(request{path: teamA + "/logged/logs"}); got.problem(t).Type != problem.NotFound.URI {
		t.Errorf("before there is a pod: %s", got.body)
	}
	r.make(t, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: "logged-worker-1",
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(job, v1alpha1.GroupVersion.WithKind("TrainingJob")),
			},
		},
		Spec: corev1.PodSpec{
			NodeName: "logs", Containers: []corev1.Container{{Name: "trainer", Image: "example.com/trainer:1"}},
		},
	})
	got := r.do(request{path: teamA + "/logged/logs?index=1&tailLines=5"})
	if want := "/containerLogs/team-a/logged-worker-1/trainer tailLines=5\n"; string(got.body) != want {
		t.Errorf("%d %s, want %s", got.StatusCode, got.body, want)
	}
	lines := bufio.NewScanner(r.stream(teamA+"/logged/logs?index=1&follow=true", "ann"))
	lines.Scan()
	for n := range 3 {
		k.more <- fmt.Sprint("step ", n)
		if want := fmt.Sprint("step ", n); !lines.Scan() || lines.Text() != want {
			t.Fatalf("%s, want %s", lines.Text(), want)
		}
	}
	close(k.more)
	if lines.Scan() {
		t.Errorf("behind the end: %s", lines.Text())
	}
	no := r.do(request{path: teamA + "/logged/logs?index=1", user: "bob"})
	if p := no.problem(t); p.Status != http.StatusForbidden || !strings.Contains(p.Detail,
		`cannot get resource "pods"`) {
		t.Errorf("bob gets %s", no.body)
	}
}

// remove: a dry run of a deletion is read by the API server from the body, and deletes nothing.
func (r *real) remove(t *testing.T) {
	job := r.job(t, "gone")
	for _, query := range []string{"?dryRun=All", "?dryRun=All&propagationPolicy=Foreground"} {
		if got := r.do(request{method: "DELETE", path: teamA + "/gone" + query}); got.StatusCode != 204 {
			t.Errorf("%s: %d %s", query, got.StatusCode, got.body)
		}
		if is := r.now(t, "gone"); is == nil || is.UID != job.UID || is.DeletionTimestamp != nil {
			t.Fatalf("a dry run deletes: %+v", is)
		}
	}
	got := r.do(request{method: "DELETE", path: teamA + "/gone", headers: []string{"If-Match: " + etag(job)}})
	if got.StatusCode != 204 || r.now(t, "gone") != nil {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
}

// quotas are listed with the rights that ship, as far as the caller has them, too.
func (r *real) quotas(t *testing.T) {
	r.make(t, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "gpus"},
		Spec: corev1.ResourceQuotaSpec{
			Hard: corev1.ResourceList{"requests.nvidia.com/gpu": resource.MustParse("4")},
		},
	})
	for user, want := range map[string]string{"ann": "gpus", "bob": ""} {
		var got queues.List
		r.do(request{path: "queues?namespace=team-a", user: user}).decode(t, http.StatusOK, &got)
		names := ""
		for _, q := range got.Items {
			names += q.Name
		}
		if names != want {
			t.Errorf("%s sees %q, want %q", user, names, want)
		}
		hidden := false
		for _, u := range got.Unreadable {
			hidden = hidden || u.Kind == "ResourceQuota"
			if !strings.Contains(u.Detail, "cannot list resource") {
				t.Errorf("%s cannot see %+v", user, u)
			}
		}
		if hidden != (user == "bob") {
			t.Errorf("%s gets %+v", user, got.Unreadable)
		}
	}
}
