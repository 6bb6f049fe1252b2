package reportserver

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Results of a report: the values of the metrics' label.
const (
	resultTaken        = "taken"        // in the inbox, and its commit in the status
	resultUnwritten    = "unwritten"    // in the inbox, its commit not yet in the status
	resultNotLeader    = "not_leader"   // another replica leads
	resultBusy         = "busy"         // too many at once
	resultUnavailable  = "unavailable"  // the API server or the caches did not say
	resultNotServed    = "not_served"   // no such path, method or content type
	resultToken        = "token"        // no token, or not one that is good here
	resultRate         = "rate"         // too often
	resultSender       = "sender"       // the pod may not report
	resultAttempt      = "attempt"      // of another attempt than the pod's or the running one
	resultMalformed    = "malformed"    // not a report
	resultOversized    = "oversized"    // more than checkpoint.MaxReportBytes
	resultURI          = "uri"          // a checkpoint outside the job's place
	resultDisconnected = "disconnected" // nobody waits for the answer any more
	resultInternal     = "internal"     // our fault
)

// How long a refused agent waits: for another replica, for a pass of the reconciler, for its rate, for the API server.
const (
	retryLeader      = 2 * time.Second
	retrySoon        = time.Second
	retryRate        = 2 * time.Second
	retryUnavailable = 5 * time.Second
)

// maxRefusalText is in bytes; the agent shows 200.
const maxRefusalText = 500

// refusal is an answer other than 200: what is wrong with which field, and what to change.
type refusal struct {
	code   int
	result string
	text   string
	// retryAfter is how long to wait, in whole seconds; 0: it is left to the agent.
	retryAfter time.Duration
	// hangUp closes the connection, so that the next report may reach another replica.
	hangUp bool
}

func refuse(code int, result, format string, args ...any) *refusal {
	return &refusal{code: code, result: result, text: fmt.Sprintf(format, args...)}
}

func (r *refusal) after(d time.Duration) *refusal {
	r.retryAfter = d
	return r
}

func (r *refusal) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(r.retryAfter.Seconds())))
	}
	if r.code == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if r.hangUp {
		h.Set("Connection", "close")
	}
	w.WriteHeader(r.code)
	_, _ = fmt.Fprintln(w, checkpoint.Printable(r.text, maxRefusalText)) // who has hung up needs no answer
}
