package reportserver

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Results of a report or beat: the values of the metric's label.
const (
	resultTaken        = "taken"        // stored, and its commit is in the status
	resultUnwritten    = "unwritten"    // stored, its commit is not in the status yet
	resultNotLeader    = "not_leader"   // another replica leads
	resultBusy         = "busy"         // too many bodies are being read
	resultUnavailable  = "unavailable"  // the API server or the caches do not respond
	resultNotServed    = "not_served"   // no such path, method or content type
	resultToken        = "token"        // no token, or not a valid one
	resultRate         = "rate"         // too often
	resultSender       = "sender"       // the pod may not report
	resultAttempt      = "attempt"      // not the pod's attempt, or not the running one
	resultMalformed    = "malformed"    // not a report
	resultOversized    = "oversized"    // more than checkpoint.MaxReportBytes or MaxBeatBytes
	resultURI          = "uri"          // a checkpoint outside the job's directory
	resultDisconnected = "disconnected" // the agent has hung up
	resultInternal     = "internal"     // a bug of the operator
)

var results = []string{
	resultTaken, resultUnwritten, resultNotLeader, resultBusy, resultUnavailable, resultNotServed, resultToken,
	resultRate, resultSender, resultAttempt, resultMalformed, resultOversized, resultURI, resultDisconnected,
	resultInternal,
}

// beatResults are those of a beat: it has neither a commit nor URIs.
var beatResults = slices.DeleteFunc(slices.Clone(results), func(result string) bool {
	return result == resultUnwritten || result == resultURI
})

// Values of Retry-After, by what the agent waits for.
const (
	retryLeader      = 2 * time.Second // another replica
	retryStatus      = time.Second     // a status write, or a watch event
	retryRate        = 2 * time.Second // the rate limit
	retryUnavailable = 5 * time.Second // the API server
)

// maxRejectionText is in bytes. The agent shows 200 of them.
const maxRejectionText = 500

// rejection is a response other than 200. Its text has the wrong field and the remedy.
type rejection struct {
	code   int
	result string
	text   string
	// retryAfter is sent in whole seconds; 0 leaves the wait to the agent.
	retryAfter time.Duration
}

func reject(code int, result, format string, args ...any) *rejection {
	return &rejection{code: code, result: result, text: fmt.Sprintf(format, args...)}
}

func (r *rejection) after(d time.Duration) *rejection {
	r.retryAfter = d
	return r
}

func (r *rejection) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(r.retryAfter.Seconds())))
	}
	if r.code == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(r.code)
	// An error means that the agent has disconnected.
	_, _ = fmt.Fprintln(w, checkpoint.Printable(r.text, maxRejectionText))
}
