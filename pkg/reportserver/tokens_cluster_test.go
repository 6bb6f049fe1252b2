//go:build cluster

package reportserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/allowance"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// operatorUser has the rights that ship with the operator, and no others.
const operatorUser = "system:serviceaccount:trainingjob-system:trainingjob-operator"

// clusterEnvironment is a Server on a real API server, with real tokens, reviews and watches.
type clusterEnvironment struct {
	*environment
	client  client.Client
	options Options
	address string
}

// TestRealTokens posts with tokens that a real API server issues for pods and reviews with the operator's
// rights.
func TestRealTokens(t *testing.T) {
	r := newClusterEnvironment(t)
	bert, other := r.job("bert"), r.job("other")
	zero, one := r.pod(bert, 0), r.pod(bert, 1)
	r.pod(other, 0)
	good, commit := r.token(zero, audience), commit1(t, bert)

	code, says := r.post(good, training1)
	if code != 200 {
		t.Fatalf("rank 0 with its token: %d %s", code, says)
	}
	result := r.server.handler.tokens.review(t.Context(), good)
	if result.rejected != nil || result.pod != (podIdentity{"team-a", zero.Name, zero.UID}) {
		t.Errorf("the API server says that the token is of %+v, %v", result.pod, result.rejected)
	}
	for name, tc := range map[string]struct {
		token, body string
		code        int
		says        string
	}{
		"another audience":          {r.token(zero, "vault"), training1, 401, "another audience"},
		"the API server's audience": {r.token(zero), training1, 401, "another audience"},
		"not bound to a pod":        {r.token(nil, audience), training1, 401, "not bound to a pod"},
		"a changed signature":       {good[:len(good)-8] + "AAAAAAAA", training1, 401, "expired"},
		"bound to another rank":     {r.token(one, audience), training1, 403, "is not the reporting rank"},
		"bound to another job's rank": {r.token(r.find("other-worker-0"), audience), commit, 422,
			"is not below pvc://data/other"},
		"bound to a pod of no job": {r.token(r.strayPod(), audience), training1, 403,
			"is not a rank of a TrainingJob"},
		"its own, and a later attempt": {good, strings.Replace(training1, `"attempt":1`, `"attempt":2`, 1), 409,
			"this pod belongs to attempt 1"},
	} {
		if code, says := r.post(tc.token, tc.body); code != tc.code || !strings.Contains(says, tc.says) {
			t.Errorf("%s: got %d %q, want %d with %q", name, code, says, tc.code, tc.says)
		}
	}

	t.Run("a commit is acknowledged by its write", func(t *testing.T) {
		done := make(chan int, 1)
		go func() {
			code, _ := r.post(good, commit)
			done <- code
		}()
		r.awaitWaiter()
		before := bert.DeepCopy()
		setCommit(bert, 90)
		if err := r.client.Status().Patch(t.Context(), bert, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		if code := <-done; code != 200 {
			t.Errorf("got %d", code)
		}
	})

	t.Run("a deleted pod", func(t *testing.T) {
		if err := r.client.Delete(t.Context(), zero, client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
		// The review is still cached, but the pod has left the pod cache.
		eventually(t, "the remembered token is refused", func() bool {
			code, says := r.post(good, training1)
			return code == 403 && strings.Contains(says, "or is deleted")
		})
		again := r.pod(bert, 0)
		if again.UID == zero.UID {
			t.Fatal("it is the same pod")
		}
		if code, says := r.post(r.token(again, audience), training1); code != 200 {
			t.Fatalf("its successor: %d %s", code, says)
		}
		if code, says := r.post(good, training1); code != 403 || !strings.Contains(says, "was replaced") {
			t.Errorf("the token of its predecessor: %d %s", code, says)
		}
		// An operator with an empty cache.
		r.server.handler.tokens = newTokenReviewer(r.options.Reviews, audience, clock.RealClock{}, maxAccepted,
			reportTokenLifetime)
		eventually(t, "the API server itself refuses it", func() bool {
			if code, says := r.post(good, training1); code == 401 {
				return strings.Contains(says, "a deleted pod")
			}
			// The API server itself caches tokens for some seconds.
			r.server.handler.tokens = newTokenReviewer(r.options.Reviews, audience, clock.RealClock{}, maxAccepted,
				reportTokenLifetime)
			return false
		})
	})
}

const training1 = `{"attempt":1,"phase":"Training","step":100}`

// commit1 reports a commit of the job's attempt 1.
func commit1(t *testing.T, job *v1alpha1.TrainingJob) string {
	t.Helper()
	dir, err := spec.CheckpointURI(job)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"attempt":1,"phase":"Training","step":100,`+
		`"checkpoint":{"state":"Committed","step":90,"uri":"%s/attempt-1/step-90"}}`, dir)
}

func newClusterEnvironment(t *testing.T) *clusterEnvironment {
	t.Helper()
	cluster, err := localcluster.Up(t.Context(), localcluster.Options{
		Dir: t.TempDir() + "/cluster", Attached: true, Nodes: -1,
		Schedulers: []string{localcluster.SchedulerNative}, Progress: os.Stderr,
		CRDs: []string{"../../deploy/crd"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	r := &clusterEnvironment{environment: &environment{t: t, dir: t.TempDir(), ca: newAuthority(t, "ca"),
		elected: make(chan struct{}), queue: newQueue()}}
	if r.client, err = client.New(cluster.RESTConfig(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	r.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}})
	eventually(t, "the namespace has a service account", func() bool {
		err := r.client.Get(t.Context(), types.NamespacedName{Namespace: "team-a", Name: "default"},
			&corev1.ServiceAccount{})
		return err == nil
	})
	r.grant()
	close(r.elected)
	r.ca.serve(t, r.dir, r.ca)
	r.serve(cluster.RESTConfig(), scheme)
	return r
}

// serve runs the server with the operator's rights alone.
func (r *clusterEnvironment) serve(config *rest.Config, scheme *runtime.Scheme) {
	r.t.Helper()
	config.Impersonate.UserName = operatorUser
	reviews, err := authenticationclient.NewForConfig(config)
	if err != nil {
		r.t.Fatal(err)
	}
	ours, err := labels.Parse(v1alpha1.LabelJobName)
	if err != nil {
		r.t.Fatal(err)
	}
	caches, err := cache.New(config,
		cache.Options{Scheme: scheme, ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: ours}}})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- caches.Start(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Error(err)
		}
	})
	r.options = Options{
		BindAddress: "127.0.0.1:0", URL: "https://" + host, CertificateDir: r.dir, Audience: audience,
		Elected: r.elected, Cache: caches,
		Reviews: reviews.TokenReviews(), Clock: clock.RealClock{}, Registry: prometheus.NewRegistry(),
		Log: logr.Discard(),
	}
	if r.server, err = New(r.options); err != nil {
		r.t.Fatal(err)
	}
	r.store = r.server.Store
	// The limits have tests of their own; here many posts come from one pod and one address.
	connections.NewPerSecond = rate.Inf
	r.server.handler.pods, r.server.handler.addresses = newRateLimits(1e6, 1e6, maxPods),
		allowance.NewPerKey(time.Nanosecond, 1<<30, maxAddresses)
	if err := r.store.Start(ctx, r.queue); err != nil {
		r.t.Fatal(err)
	}
	r.address, _ = r.served()
	eventually(r.t, "it listens", func() bool {
		c, err := net.Dial("tcp", r.address)
		return err == nil && c.Close() == nil
	})
}

// grant applies the roles of deploy/rbac.
func (r *clusterEnvironment) grant() {
	r.t.Helper()
	data, err := os.ReadFile("../../deploy/rbac/role.yaml")
	if err != nil {
		r.t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(data), "\n---\n") {
		role := &rbacv1.ClusterRole{}
		if err := yaml.Unmarshal([]byte(part), role); err != nil {
			r.t.Fatal(err)
		}
		if role.Kind != "ClusterRole" {
			continue
		}
		r.create(role)
		r.create(&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operatorUser}},
		})
	}
}

func (r *clusterEnvironment) create(o client.Object) {
	r.t.Helper()
	if err := r.client.Create(r.t.Context(), o); err != nil {
		r.t.Fatal(err)
	}
}

// job creates a job in attempt 1.
func (r *clusterEnvironment) job(name string) *v1alpha1.TrainingJob {
	r.t.Helper()
	job := newJob(name, "", 1)
	job.Spec.Image, job.Spec.Command = "trainer", []string{"train"}
	r.create(job)
	before := job.DeepCopy()
	job.Status.Attempt = 1
	if err := r.client.Status().Patch(r.t.Context(), job, client.MergeFrom(before)); err != nil {
		r.t.Fatal(err)
	}
	r.cached("attempt 1 of "+name, func(ctx context.Context) bool {
		seen := &v1alpha1.TrainingJob{}
		return r.options.Cache.Get(ctx, client.ObjectKeyFromObject(job), seen) == nil && seen.Status.Attempt == 1
	})
	return job
}

// pod creates the pod of a rank. It is never scheduled.
func (r *clusterEnvironment) pod(job *v1alpha1.TrainingJob, index int32) *corev1.Pod {
	r.t.Helper()
	rank := newPod(job, index)
	pod := &corev1.Pod{ObjectMeta: rank.ObjectMeta, Spec: podSpec()}
	pod.UID = ""
	r.create(pod)
	r.cached("pod "+pod.Name, func(ctx context.Context) bool {
		seen := &corev1.Pod{}
		return r.options.Cache.Get(ctx, client.ObjectKeyFromObject(pod), seen) == nil && seen.UID == pod.UID
	})
	return pod
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{ServiceAccountName: "default",
		Containers: []corev1.Container{{Name: framework.TrainerContainer, Image: "trainer"}}}
}

// strayPod has no owner.
func (r *clusterEnvironment) strayPod() *corev1.Pod {
	r.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "stray", Namespace: "team-a"}, Spec: podSpec()}
	r.create(pod)
	return pod
}

func (r *clusterEnvironment) find(name string) *corev1.Pod {
	r.t.Helper()
	pod := &corev1.Pod{}
	key := types.NamespacedName{Namespace: "team-a", Name: name}
	if err := r.client.Get(r.t.Context(), key, pod); err != nil {
		r.t.Fatal(err)
	}
	return pod
}
func (r *clusterEnvironment) cached(what string, is func(context.Context) bool) {
	r.t.Helper()
	eventually(r.t, "the caches have "+what, func() bool {
		ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
		defer cancel()
		return is(ctx)
	})
}

// token requests a token of the namespace's service account, as a kubelet does. pod may be nil.
func (r *clusterEnvironment) token(pod *corev1.Pod, audiences ...string) string {
	r.t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences,
		ExpirationSeconds: new(int64(600))}}
	if pod != nil {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod",
			Name: pod.Name, UID: pod.UID}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "team-a"}}
	if err := r.client.SubResource("token").Create(r.t.Context(), account, request); err != nil {
		r.t.Fatal(err)
	}
	return request.Status.Token
}

func (r *clusterEnvironment) post(token, body string) (int, string) {
	return r.reportAs(agent(r.address, r.server.CA(), &tls.Config{}), token, body)
}
