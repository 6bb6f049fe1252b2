package reportserver

import (
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// ServeHTTP takes one report. What costs least comes first, and nothing is read of a body before its sender is known.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if s.open.Load() > keepConnections {
		w.Header().Set("Connection", "close")
	}
	answer, no := s.handle(w, req)
	if no != nil {
		s.metrics.reports.WithLabelValues(no.result).Inc()
		s.Log.V(1).Info("Refused a report", "from", req.RemoteAddr, "code", no.code, "reason", no.text)
		no.write(w)
		return
	}
	s.metrics.reports.WithLabelValues(resultTaken).Inc()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // who has hung up reports again
}

func (s *Server) handle(w http.ResponseWriter, req *http.Request) ([]byte, *refusal) {
	began := s.Clock.Now()
	done := func() { s.metrics.handling.Observe(s.Clock.Since(began).Seconds()) }
	if no := s.route(w, req); no != nil {
		done()
		return nil, no
	}
	who, no := s.authenticate(req)
	if no != nil {
		done()
		return nil, no
	}
	if !s.atOnce.enter(who.uid) {
		done()
		return nil, refuse(http.StatusTooManyRequests, resultRate, "pod %s has %d reports under way: send one at a time", who.pod, podAtOnce).after(retryRate)
	}
	defer s.atOnce.leave(who.uid)
	from, report, no := s.receive(w, req, who)
	done()
	if no != nil {
		return nil, no
	}
	return s.answer(req.Context(), from, report)
}

// receive judges a report and puts it into the inbox.
func (s *Server) receive(w http.ResponseWriter, req *http.Request, who identity) (sender, *checkpoint.Report, *refusal) {
	if !s.pods.spend(string(who.uid), s.Clock.Now()) {
		return sender{}, nil, refuse(http.StatusTooManyRequests, resultRate, "pod %s reports more than once a second: keep minIntervalSeconds", who.pod).after(retryRate)
	}
	from, no := s.lookUp(req.Context(), who)
	if no != nil {
		return sender{}, nil, no
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		return sender{}, nil, refuse(http.StatusServiceUnavailable, resultBusy, "%d reports are read already: report again", atOnceAll).after(retrySoon)
	}
	report, no := read(w, req)
	if no != nil {
		return sender{}, nil, no
	}
	base, hasBase := s.Desk.Base(from.job)
	if no := from.check(report, base, hasBase); no != nil {
		return sender{}, nil, no
	}
	unwritten := lasting(report) && !s.Desk.Acknowledged(from.job, report)
	s.Inbox.take(client.ObjectKeyFromObject(from.job), from.job.UID, report, from.over(), unwritten)
	return from, report, nil
}

// route refuses what is no report to us.
func (s *Server) route(w http.ResponseWriter, req *http.Request) *refusal {
	if req.URL.Path != Path || req.URL.RawQuery != "" {
		return refuse(http.StatusNotFound, resultNotServed, "there is nothing here: post reports to %s", Path)
	}
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return refuse(http.StatusMethodNotAllowed, resultNotServed, "the method is not allowed: use POST")
	}
	if kind, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return refuse(http.StatusUnsupportedMediaType, resultNotServed, "the header Content-Type is not application/json: send JSON, and say so")
	}
	select {
	case <-s.Elected:
		return nil
	default:
		no := refuse(http.StatusServiceUnavailable, resultNotLeader, "this replica of the operator is not the leader: report again").after(retryLeader)
		no.hangUp = true // a new connection may reach the one that is
		return no
	}
}

// authenticate finds the pod that a request's token is bound to.
func (s *Server) authenticate(req *http.Request) (identity, *refusal) {
	token, no := bearer(req.Header)
	if no != nil {
		return identity{}, no
	}
	if r, ok := s.tokens.known(token); ok {
		return r.who, r.no
	}
	address, _, err := net.SplitHostPort(req.RemoteAddr)
	if err != nil {
		address = req.RemoteAddr
	}
	if !s.addresses.left(address, s.Clock.Now()) {
		return identity{}, refuse(http.StatusTooManyRequests, resultRate, "too many tokens of this address were refused: send the pod's projected token").after(retryRate)
	}
	r := s.tokens.review(req.Context(), token)
	if r.no != nil && r.no.result == resultToken {
		s.addresses.spend(address, s.Clock.Now())
	}
	return r.who, r.no
}

// lookUp the sender in the caches.
func (s *Server) lookUp(ctx context.Context, who identity) (sender, *refusal) {
	pod := &corev1.Pod{}
	found, err := s.get(ctx, types.NamespacedName{Namespace: who.namespace, Name: who.pod}, pod)
	if err != nil {
		return sender{}, cachesSilent()
	}
	if !found {
		pod = nil
	}
	owner, no := ownerOf(who, pod)
	if no != nil {
		return sender{}, no
	}
	job := &v1alpha1.TrainingJob{}
	if found, err = s.get(ctx, types.NamespacedName{Namespace: who.namespace, Name: owner.Name}, job); err != nil {
		return sender{}, cachesSilent()
	}
	if !found {
		job = nil
	}
	return identify(who, pod, job)
}

func (s *Server) get(ctx context.Context, key types.NamespacedName, into client.Object) (bool, error) {
	err := s.Cache.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

func cachesSilent() *refusal {
	return refuse(http.StatusServiceUnavailable, resultUnavailable, "the operator's caches do not answer: report again").after(retryUnavailable)
}

// read the body, bounded.
func read(w http.ResponseWriter, req *http.Request) (*checkpoint.Report, *refusal) {
	data, err := io.ReadAll(http.MaxBytesReader(w, req.Body, checkpoint.MaxReportBytes))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, refuse(http.StatusRequestEntityTooLarge, resultOversized, "report has more than %d bytes: write less into it", checkpoint.MaxReportBytes)
	case err != nil:
		return nil, refuse(http.StatusBadRequest, resultDisconnected, "report ends too early: send it whole, within %s", readTimeout)
	}
	report, err := checkpoint.ParseReport(data)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, resultMalformed, "%v", err)
	}
	return report, nil
}

// answer a report that is in the inbox: when what must last is persisted.
func (s *Server) answer(ctx context.Context, from sender, report *checkpoint.Report) ([]byte, *refusal) {
	job := from.job
	if lasting(report) {
		began := s.Clock.Now()
		var no *refusal
		job, no = s.written(ctx, job, report)
		s.metrics.waiting.Observe(s.Clock.Since(began).Seconds())
		if no != nil {
			return nil, no
		}
	}
	answer := checkpoint.Answer{Command: checkpoint.CommandNone}
	if !from.resolver && from.attempt == job.Status.Attempt { // commands are for the running attempt
		answer = s.Desk.Answer(job)
	}
	data, err := checkpoint.Encode(answer)
	if err != nil {
		s.Log.Error(err, "Answering a report", "job", client.ObjectKeyFromObject(job))
		return nil, refuse(http.StatusInternalServerError, resultInternal, "the operator has no proper answer: see its log")
	}
	return data, nil
}

// written waits until the job's status holds what the report must not lose, and returns the job as it is then.
func (s *Server) written(ctx context.Context, job *v1alpha1.TrainingJob, report *checkpoint.Report) (*v1alpha1.TrainingJob, *refusal) {
	patience := s.Clock.NewTimer(ackWait)
	defer patience.Stop()
	key, uid := client.ObjectKeyFromObject(job), job.UID
	for {
		round := s.changes.join(uid)
		now := &v1alpha1.TrainingJob{}
		found, err := s.get(ctx, key, now)
		if err == nil && found && now.UID == uid && s.Desk.Acknowledged(now, report) {
			s.changes.leave(uid, round)
			return now, nil
		}
		var no *refusal
		switch {
		case err != nil:
			no = cachesSilent()
		case !found || now.UID != uid:
			no = refuse(http.StatusForbidden, resultSender, "TrainingJob %s is gone", key.Name)
		default:
			select {
			case <-round.over:
			case <-patience.C():
				no = unwritten()
			case <-ctx.Done():
				no = unwritten()
			}
		}
		s.changes.leave(uid, round)
		if no != nil {
			return nil, no
		}
	}
}

func unwritten() *refusal {
	return refuse(http.StatusServiceUnavailable, resultUnwritten, "taken, not yet written: report again").after(retrySoon)
}
