package reportserver

import (
	"context"
	"mime"
	"net"
	"net/http"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/allowance"
	"mlplatform.example.com/trainingjob-operator/pkg/boundedlistener"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Path that reports are posted to, below the configured URL.
const Path = "/v1/reports"

// handler responds to reports.
type handler struct {
	log     logr.Logger
	clock   clock.Clock
	elected <-chan struct{}
	caches  client.Reader
	// namespaces of the jobs in the caches; none: all.
	namespaces []string
	store      *Store
	metrics    *metrics
	tokens     *tokenReviewer
	pods       *rateLimits
	addresses  *allowance.PerKey
	inFlight   *inFlight
	bodies     chan struct{}
	commits    *commitWaiter

	beats *Beats
	// beatTokens and beatAddresses are tokens and addresses for beats.
	beatTokens    *tokenReviewer
	beatAddresses *allowance.PerKey
	beatsInFlight chan struct{}
}

// ServeHTTP handles one report or beat. The cheap checks come first, and the body is read only after
// authentication. Until then its connection is a stranger's, and ends with the response.
func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Connection", "close")
	if req.URL.Path == BeatsPath {
		h.serveBeat(w, req)
		return
	}
	answer, rejected := h.handle(w, req)
	if rejected != nil {
		h.metrics.reports.WithLabelValues(rejected.result).Inc()
		h.log.V(1).Info("Rejected a report", "from", req.RemoteAddr, "code", rejected.code, "reason", rejected.text)
		rejected.write(w)
		return
	}
	h.metrics.reports.WithLabelValues(resultTaken).Inc()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // an agent that has hung up reports again
}
func (h *handler) handle(w http.ResponseWriter, req *http.Request) ([]byte, *rejection) {
	began := h.clock.Now()
	handled := func() { h.metrics.handling.Observe(h.clock.Since(began).Seconds()) }
	if rejected := h.route(w, req); rejected != nil {
		handled()
		return nil, rejected
	}
	id, rejected := h.authenticate(req, h.tokens, h.addresses)
	if rejected != nil {
		handled()
		return nil, rejected
	}
	if !h.inFlight.acquire(id.uid) {
		handled()
		return nil, reject(http.StatusTooManyRequests, resultRate,
			"pod %s has %d reports in progress: send one at a time", id.name,
			maxInFlightPerPod).after(retryRate)
	}
	defer h.inFlight.release(id.uid)
	from, report, rejected := h.receive(w, req, id)
	handled()
	if rejected != nil {
		return nil, rejected
	}
	if asksToResume(req) {
		return h.resumePoint(from)
	}
	return h.answer(req.Context(), from, report, req.Header.Get(checkpoint.HeaderSettings) == "1")
}

// route rejects requests that are no reports or beats, and all requests while this replica is not the leader.
func (h *handler) route(w http.ResponseWriter, req *http.Request) *rejection {
	if req.URL.Path != Path && req.URL.Path != BeatsPath || req.URL.RawQuery != "" {
		return reject(http.StatusNotFound, resultNotServed, "unknown path: post reports to %s", Path)
	}
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return reject(http.StatusMethodNotAllowed, resultNotServed, "the method is not allowed: use POST")
	}
	if kind, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil ||
		kind != "application/json" {
		return reject(http.StatusUnsupportedMediaType, resultNotServed,
			"the Content-Type is not application/json: send JSON with that type")
	}
	select {
	case <-h.elected:
		return nil
	default:
		// Close the connection: a new one can reach the leader.
		return reject(http.StatusServiceUnavailable, resultNotLeader,
			"this replica of the operator is not the leader: report again").after(retryLeader)
	}
}

// authenticate returns the pod that the request's token is bound to. addresses limits the rejected tokens.
func (h *handler) authenticate(
	req *http.Request, tokens *tokenReviewer, addresses *allowance.PerKey,
) (podIdentity, *rejection) {
	token, rejected := bearerToken(req.Header)
	if rejected != nil {
		return podIdentity{}, rejected
	}
	if r, ok := tokens.cached(token); ok {
		return r.pod, r.rejected
	}
	address, _, err := net.SplitHostPort(req.RemoteAddr)
	if err != nil {
		address = req.RemoteAddr
	}
	// Count the token as rejected until it is accepted: requests run concurrently, and a client that hangs up
	// has caused a review too.
	if !addresses.Take(address, h.clock.Now()) {
		return podIdentity{}, reject(http.StatusTooManyRequests, resultRate,
			"too many tokens from this address were rejected: send the pod's projected "+
				"token").after(retryRate)
	}
	r := tokens.review(req.Context(), token)
	if r.rejected == nil {
		addresses.GiveBack(address)
	}
	return r.pod, r.rejected
}

// receive checks a report and stores it.
func (h *handler) receive(
	w http.ResponseWriter, req *http.Request, id podIdentity,
) (reportingPod, *checkpoint.Report, *rejection) {
	if !h.pods.take(string(id.uid), h.clock.Now()) {
		return reportingPod{}, nil, reject(http.StatusTooManyRequests, resultRate,
			"pod %s reports more than once a second: keep minIntervalSeconds", id.name).after(retryRate)
	}
	if rejected := h.checkNamespace(id); rejected != nil {
		return reportingPod{}, nil, rejected
	}
	from, rejected := findReportingPod(req.Context(), h.caches, id)
	if rejected != nil {
		return reportingPod{}, nil, rejected
	}
	if boundedlistener.Vouch(req.Context(), string(id.uid)) {
		w.Header().Del("Connection")
	}
	select {
	case h.bodies <- struct{}{}:
		defer func() { <-h.bodies }()
	default:
		return reportingPod{}, nil, reject(http.StatusServiceUnavailable, resultBusy,
			"%d reports are already being read: report again", maxBodies).after(retryStatus)
	}
	report, rejected := readReport(w, req)
	if rejected != nil {
		return reportingPod{}, nil, rejected
	}
	if rejected := checkReport(from, report); rejected != nil {
		return reportingPod{}, nil, rejected
	}
	switch {
	case asksToResume(req):
		return from, report, nil
	case from.onlyAsks:
		return reportingPod{}, nil, forbid(id, "is not the reporting rank %s", rankZeroPod(from.job))
	}
	unwritten := !decision.Acknowledged(from.job, report)
	h.store.add(client.ObjectKeyFromObject(from.job), from.job.UID, report, from.attemptOver(), unwritten)
	return from, report, nil
}

// checkNamespace rejects pods whose jobs another operator runs.
func (h *handler) checkNamespace(id podIdentity) *rejection {
	if len(h.namespaces) > 0 && !slices.Contains(h.namespaces, id.namespace) {
		return forbid(id, "is in a namespace that this operator does not watch")
	}
	return nil
}

func asksToResume(req *http.Request) bool { return req.Header.Get(checkpoint.HeaderResume) == "1" }

// resumePoint responds to a rank that starts. Only the persisted point counts: a later attempt resumes from
// it or from a newer one.
func (h *handler) resumePoint(from reportingPod) ([]byte, *rejection) {
	path, err := spec.ResumePath(from.job)
	if err != nil {
		return nil, unprocessable("resumeFrom", "has no path: "+err.Error(), "see spec.checkpoint of the job")
	}
	return h.encode(from.job, checkpoint.Answer{
		Command: checkpoint.CommandNone, Attempt: from.job.Status.Attempt, ResumeFrom: &path,
	})
}

// answer responds to a stored report. If it has a commit, the response waits until the commit is persisted.
// Without settings it has none of the fields that agents of older operators do not know.
func (h *handler) answer(
	ctx context.Context, from reportingPod, report *checkpoint.Report, settings bool,
) ([]byte, *rejection) {
	job := from.job
	if hasCommit(report) {
		began := h.clock.Now()
		var rejected *rejection
		job, rejected = h.commits.wait(ctx, job, report)
		h.metrics.commitWrite.Observe(h.clock.Since(began).Seconds())
		if rejected != nil {
			return nil, rejected
		}
	}
	answer := checkpoint.Answer{Command: checkpoint.CommandNone}
	if !from.resolver && from.attempt == job.Status.Attempt { // commands are for the running attempt
		answer = decision.Answer(job)
	}
	if !settings {
		answer.Settings, answer.RetainLast = nil, 0
	}
	return h.encode(job, answer)
}
func (h *handler) encode(job *v1alpha1.TrainingJob, answer checkpoint.Answer) ([]byte, *rejection) {
	data, err := checkpoint.Encode(answer)
	if err != nil {
		h.log.Error(err, "Encoding the response to a report", "job", client.ObjectKeyFromObject(job))
		return nil, reject(http.StatusInternalServerError, resultInternal,
			"the operator failed to encode the response: see its log")
	}
	return data, nil
}
