package reportserver

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

const (
	training = `{"attempt":2,"phase":"Training","step":100,"firstStep":91,"totalSteps":1000}`
	saved    = `{"attempt":2,"phase":"Training","step":100,` +
		`"checkpoint":{"state":"Committed","step":90,"uri":"` + bertDir + `/attempt-2/step-90"}}`
	resolved = `{"attempt":2,"phase":"Resolved",` +
		`"checkpoint":{"state":"Committed","step":90,"uri":"` + bertDir + `/attempt-1/step-90"}}`
)

func uri(u string) string { return strings.Replace(saved, bertDir+"/attempt-2/step-90", u, 1) }

// TestRejections: a report with one fault is rejected with a code and a text, and leaves no trace in the
// store. Each case first shows that the report is taken without the fault.
func TestRejections(t *testing.T) {
	type test struct {
		reason string
		// wrong introduces the fault.
		wrong func(*environment, *request)
		code  int
		says  string
		// result is the metric's label, and retry the header Retry-After.
		result string
		retry  int
	}
	body := func(b string) func(*environment, *request) {
		return func(_ *environment,
			r *request) {
			r.body = b
		}
	}
	pod := func(do func(*corev1.Pod)) func(*environment, *request) {
		return func(e *environment, _ *request) { change(e, "bert-worker-0", do) }
	}
	token := func(do func(*authenticationv1.TokenReviewStatus)) func(*environment, *request) {
		return func(e *environment, _ *request) { e.reviews.change("bert-worker-0", do) }
	}
	tests := map[string]test{
		"a GET": {"one method",
			func(_ *environment, r *request) { r.method = http.MethodGet }, 405, "use POST", resultNotServed, 0},
		"a PUT": {"one method",
			func(_ *environment, r *request) { r.method = http.MethodPut }, 405, "use POST", resultNotServed, 0},
		"another path": {"one path", func(_ *environment, r *request) { r.path = "/" }, 404, Path,
			resultNotServed, 0},
		"a path with ..": {"one path",
			func(_ *environment, r *request) { r.path = "/v1/x/../reports" }, 404, Path, resultNotServed, 0},
		"a query": {"nothing is ignored", func(_ *environment, r *request) {
			r.path = Path +
				"?job=other"
		}, 404, Path, resultNotServed, 0},
		"a form": {"JSON alone",
			func(_ *environment, r *request) { r.contentType = "application/x-www-form-urlencoded" }, 415,
			"Content-Type", resultNotServed, 0},
		"no content type": {"JSON alone", func(_ *environment, r *request) { r.contentType = "" }, 415,
			"Content-Type", resultNotServed, 0},
		"no leader": {"the agent tries again",
			func(e *environment, _ *request) { e.server.handler.elected = make(chan struct{}) }, 503,
			"not the leader: report again", resultNotLeader, 2},
		"no token": {"", func(_ *environment, r *request) { r.token = "" }, 401, "Authorization",
			resultToken, 0},
		"two tokens": {"which of them?",
			func(_ *environment, r *request) {
				r.header = http.Header{"Authorization": {"Bearer a",
					"Bearer b"}}
			},
			401, "2 Authorization headers", resultToken, 0},
		"basic authentication": {"",
			func(_ *environment, r *request) { r.header = http.Header{"Authorization": {"Basic YTpi"}} }, 401,
			"bearer", resultToken, 0},
		"a token with a space": {"",
			func(_ *environment, r *request) { r.header = http.Header{"Authorization": {"Bearer a b"}} }, 401,
			"bearer", resultToken, 0},
		"a huge token": {"",
			func(_ *environment, r *request) { r.token = strings.Repeat("a", maxTokenBytes+1) }, 401, "bytes",
			resultToken, 0},
		"an unknown token": {"forged", func(_ *environment, r *request) { r.token = "forged" }, 401,
			"expired, has another audience", resultToken, 0},
		"an expired token": {"the API server says no",
			token(func(s *authenticationv1.TokenReviewStatus) { s.Authenticated = false }), 401, "expired",
			resultToken, 0},
		"a token for others": {"it may have been handed to them",
			token(func(s *authenticationv1.TokenReviewStatus) { s.Audiences = []string{"vault"} }), 401,
			"audience " + audience, resultToken, 0},
		"a word without audiences": {"the authenticator knows none",
			token(func(s *authenticationv1.TokenReviewStatus) { s.Audiences = nil }), 401, "not for audience " +
				audience, resultToken, 0},
		"a user's token": {"no service account",
			token(func(s *authenticationv1.TokenReviewStatus) { s.User.Username = "admin" }), 401,
			"not a service account's", resultToken, 0},
		"a token bound to no pod": {"a service account's own",
			token(func(s *authenticationv1.TokenReviewStatus) { s.User.Extra = nil }), 401,
			"not bound to a pod",
			resultToken, 0},
		"a token without a pod UID": {"a name is not enough",
			token(func(s *authenticationv1.TokenReviewStatus) {
				delete(s.User.Extra,
					serviceaccount.PodUIDKey)
			}),
			401, "not bound to a pod", resultToken, 0},
		"an API server that is away": {"no client's fault",
			func(e *environment, _ *request) { e.reviews.broken = errors.New("secret details") }, 503,
			"the API server did not review the token: report again", resultUnavailable, 5},
		"a namespace of another operator": {"the caches know nothing of it, and never will",
			func(e *environment, _ *request) { e.server.handler.namespaces = []string{"team-b"} }, 403,
			"this operator does not watch", resultSender, 0},
		"a predecessor's token": {"the pod was replaced under its name",
			pod(func(p *corev1.Pod) { p.UID = "new" }), 403, "was replaced", resultSender, 0},
		"a pod that failed": {"late", pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }),
			403, "has ended", resultSender, 0},
		"a pod that succeeded": {"late", pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
			403, "has ended", resultSender, 0},
		"a deleted pod": {"late; its token can still be cached",
			func(e *environment, _ *request) {
				e.cache.drop(e.cache.find(new(*corev1.Pod),
					"bert-worker-0"))
			}, 403,
			"or is deleted", resultSender, 0},
		"a pod without owner": {"", pod(func(p *corev1.Pod) { p.OwnerReferences = nil }), 403,
			"not controlled by a TrainingJob", resultSender, 0},
		"an owner, not a controller": {"", pod(func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }),
			403, "not controlled by a TrainingJob", resultSender, 0},
		"a pod of another kind": {"", pod(func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "Job" }), 403,
			"not controlled by a TrainingJob", resultSender, 0},
		"a kind of another group": {"",
			pod(func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "other.example.com/v1alpha1" }), 403,
			"not controlled by a TrainingJob", resultSender, 0},
		"another job of that name": {"by UID, not by name",
			pod(func(p *corev1.Pod) { p.OwnerReferences[0].UID = "gone" }), 403,
			"TrainingJob bert, which is deleted",
			resultSender, 0},
		"another job's name": {"its controller says otherwise", func(e *environment, _ *request) {
			other := newJob("other", "uid-other", 2)
			e.cache.put(other)
			change(e, "bert-worker-0", func(p *corev1.Pod) { p.OwnerReferences[0].Name = "other" })
		}, 403, "TrainingJob other, which is deleted", resultSender, 0},
		"another pod's token, of another job": {"its report is its own job's", func(e *environment, r *request) {
			other := newJob("other", "uid-other", 2)
			e.cache.put(other)
			e.add(other, 0)
			r.token = "other-worker-0"
		}, 422, "pvc://data/other-uidother", resultURI, 0},
		"a job that is gone": {"", func(e *environment,
			_ *request) {
			e.cache.drop(e.cache.find(new(*v1alpha1.TrainingJob), "bert"))
		}, 403, "which is deleted",
			resultSender, 0},
		"another rank": {"rank 0 alone", func(_ *environment, r *request) { r.token = "bert-worker-1" },
			403, "is not the reporting rank bert-worker-0", resultSender, 0},
		"another rank with the resolver's label": {"a template may carry any label",
			func(e *environment, r *request) {
				r.token, r.body = "bert-worker-1", resolved
				change(e, "bert-worker-1", func(p *corev1.Pod) {
					p.Labels[v1alpha1.LabelComponent] = v1alpha1.ComponentResolver
				})
			}, 403, "not the reporting rank", resultSender, 0},
		"a pod named as rank 0 that is none": {"made by hand",
			pod(func(p *corev1.Pod) { delete(p.Labels, v1alpha1.LabelKubeflowReplicaIndex) }), 403,
			"not the reporting rank",
			resultSender, 0},
		"no attempt": {"",
			pod(func(p *corev1.Pod) { delete(p.Labels, v1alpha1.LabelAttempt) }), 403, "has no attempt in its label",
			resultSender, 0},
		"caches that do not respond": {"",
			func(e *environment, _ *request) { e.cache.broken = errors.New("not started") }, 503,
			"caches do not respond", resultUnavailable, 5},
		"no JSON":       {"malformed", body(`attempt=2`), 400, "is not JSON", resultMalformed, 0},
		"half a report": {"malformed", body(training[:40]), 400, "ends too early", resultMalformed, 0},
		"nothing":       {"malformed", body(""), 400, "ends too early", resultMalformed, 0},
		"an unknown field": {"nothing is ignored", body(`{"attempt":2,"phase":"Training","job":"other"}`), 400,
			"job is unknown", resultMalformed, 0},
		"a field twice": {"which of them?", body(`{"attempt":1,"attempt":2,"phase":"Training"}`), 400,
			"is there twice", resultMalformed, 0},
		"two reports":     {"", body(training + training), 400, "continues after its end", resultMalformed, 0},
		"attempt missing": {"", body(`{"phase":"Training"}`), 400, "attempt is missing", resultMalformed, 0},
		"a negative step": {"", body(`{"attempt":2,"phase":"Training","step":-1}`), 400, "step is -1",
			resultMalformed, 0},
		"an unknown phase": {"", body(`{"attempt":2,"phase":"Won"}`), 400, "phase", resultMalformed, 0},
		"too many bytes": {"oversized", body(training + strings.Repeat(" ", checkpoint.MaxReportBytes)), 413,
			"report has more than 65536 bytes: send fewer", resultOversized, 0},

		"an attempt that is not the pod's": {"forged, or the environment was changed",
			body(strings.Replace(training, `"attempt":2`, `"attempt":1`, 1)), 409,
			"attempt is 1, but this pod belongs to attempt 2: do not change $TRAININGJOB_ATTEMPT",
			resultAttempt, 0},
		"an attempt that is over": {"late: progress is the running attempt's", func(e *environment, _ *request) {
			change(e, "bert", func(j *v1alpha1.TrainingJob) { j.Status.Attempt = 3 })
		}, 409, "attempt 2 has ended, the job is in attempt 3: only a commit is accepted", resultAttempt, 0},
		"an attempt that is not seen yet": {"the pod's watch is ahead of the job's",
			func(e *environment, _ *request) {
				change(e, "bert", func(j *v1alpha1.TrainingJob) { j.Status.Attempt = 1 })
			}, 503, "not known here yet: report again", resultAttempt, 1},
		"the resolver's word from rank 0": {"", body(resolved), 403,
			"phase Resolved is only for the resolver",
			resultSender, 0},
		"rank 0's word from the resolver": {"", func(e *environment, _ *request) { e.resolver() }, 403,
			"this pod does not train: use Resolved", resultSender, 0},
		"a checkpoint beside the job's": {"outside", body(uri(bertDir + "ha/step-90")), 422,
			"is not below " + bertDir, resultURI, 0},
		"a checkpoint in another claim": {"outside", body(uri("pvc://other/bert-uidbert/step-90")), 422,
			"is not below " + bertDir, resultURI, 0},
		"the job's place itself": {"it holds the attempts", body(uri(bertDir)), 422,
			"is not below " + bertDir, resultURI, 0},
		"a checkpoint with ..": {"", body(uri(bertDir + "/../other")), 422, "has .. in its path",
			resultURI, 0},
		"a checkpoint with %2e%2e": {"", body(uri(bertDir + "/%2e%2e/other")), 422,
			"has an encoded character", resultURI, 0},
		"credentials": {"", body(uri("s3://key:secret@bucket/bert")), 422,
			"has credentials in it", resultURI, 0},
		"http": {"the server never dials it", body(uri("http://169.254.169.254/latest")), 422,
			"has the scheme http", resultURI, 0},
		"file": {"", body(uri("file:///etc/passwd")), 422, "has the scheme file",
			resultURI, 0},
		"a path": {"", body(uri("/checkpoints/step-90")), 422, "has no scheme",
			resultURI, 0},
		"no URI": {"", body(uri("")), 422, "checkpoint.uri is missing", resultURI, 0},
		"a save under way, elsewhere": {"",
			body(strings.Replace(uri("pvc://other/x"), "Committed", "Saving", 1)), 422, "is not below",
			resultURI, 0},
		"a checkpoint passed over outside": {"",
			body(`{"attempt":2,"phase":"Training","passedOver":[{"uri":"s3://a:b@bucket/x","why":"torn"}]}`),
			422,
			"passedOver[0].uri", resultURI, 0},
		"evidence of a rehearsal": {"the job is none",
			body(`{"attempt":2,"phase":"Training","rehearsal":[{"attempt":2}]}`), 422,
			"rehearsal is set, but the job has no spec.rehearsal", resultMalformed, 0},
		"evidence of a later attempt": {"it has not begun", func(e *environment, r *request) {
			change(e, "bert", func(j *v1alpha1.TrainingJob) { j.Spec.Rehearsal = &v1alpha1.RehearsalPolicy{} })
			r.body = `{"attempt":2,"phase":"Training","rehearsal":[{"attempt":3}]}`
		}, 422, "rehearsal[0].attempt is 3", resultMalformed, 0},
		"a commit of a job without checkpoints": {"", func(e *environment, _ *request) {
			change(e, "bert", func(j *v1alpha1.TrainingJob) { j.Spec.Checkpoint = nil })
		}, 422, "the job has no checkpoints: set spec.checkpoint", resultURI, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			honest := post(training)
			if tc.result == resultURI {
				honest = post(saved)
			}
			e := newEnvironment(t)
			e.write(90)
			if rec := e.do(honest); rec.Code != http.StatusOK {
				t.Fatalf("without what is wrong it is not taken: %d %s", rec.Code, text(rec.Body))
			}
			e = newEnvironment(t)
			e.write(90)
			r := honest
			tc.wrong(e, &r)
			rec := e.do(r)
			says := text(rec.Body)
			if rec.Code != tc.code || !strings.Contains(says, tc.says) {
				t.Errorf("%s: got %d %q, want %d with %q", tc.reason, rec.Code, says, tc.code, tc.says)
			}
			wantRetry := ""
			if tc.retry > 0 {
				wantRetry = strconv.Itoa(tc.retry)
			}
			if got := rec.Header().Get("Retry-After"); got != wantRetry {
				t.Errorf("Retry-After is %q, want %q", got, wantRetry)
			}
			if strings.Contains(says, "\n") || len(says) > maxRejectionText || strings.Contains(says, ":secret") ||
				strings.Contains(says, "secret details") || r.token != "" && len(r.token) > 100 &&
				strings.Contains(says, r.token) {
				t.Errorf("says %q", says)
			}
			if _, known := e.store.Latest("uid-bert"); known || len(e.woken()) > 0 {
				t.Errorf("the job is not unharmed: %+v", e.received())
			}
			if diff := cmp.Diff(map[string]float64{tc.result: 1}, e.counts()); diff != "" {
				t.Errorf("trainingjob_reports_total by result (-want +got):\n%s", diff)
			}
		})
	}
}

// counts returns trainingjob_reports_total by result.
func (e *environment) counts() map[string]float64 {
	e.t.Helper()
	families, err := e.registry.Gather()
	if err != nil {
		e.t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if n := m.GetCounter().GetValue(); f.GetName() == "trainingjob_reports_total" && n > 0 {
				counts[m.GetLabel()[0].GetValue()] = n
			}
		}
	}
	return counts
}

// resolver makes bert's rank 0 the pod that runs `agent resolve`, with rank 0's token.
func (e *environment) resolver() {
	rank := e.cache.find(new(*corev1.Pod), "bert-worker-0").(*corev1.Pod)
	pod := rank.DeepCopy()
	pod.Name, pod.UID = "bert-resolve", "uid-resolve"
	pod.Labels = map[string]string{v1alpha1.LabelJobName: "bert", v1alpha1.LabelAttempt: "2",
		v1alpha1.LabelComponent: v1alpha1.ComponentResolver}
	e.cache.put(pod)
	e.reviews.give("bert-worker-0", pod)
}

func TestSaysWhichMethodIsAllowedAndHangsUpWhenItDoesNotLead(t *testing.T) {
	e := newEnvironment(t)
	r := post(training)
	r.method = http.MethodGet
	if allow := e.do(r).Header().Get("Allow"); allow != http.MethodPost {
		t.Errorf("Allow is %q", allow)
	}
	e.server.handler.elected = make(chan struct{})
	if c := e.do(post(training)).Header().Get("Connection"); c != "close" {
		t.Errorf("the next report goes to the same replica: Connection is %q", c)
	}
	if e.reviews.questions() != 0 || e.cache.reads != 0 {
		t.Error("a replica that does not lead asks for nothing")
	}
}
