package reportserver

import (
	"time"

	"golang.org/x/time/rate"

	"mlplatform.example.com/trainingjob-operator/pkg/boundedlistener"
)

// connections are strangers' until their agent is authenticated, then of rank 0 of running jobs. An honest
// agent has one, and is a stranger for milliseconds. Only known connections stay open between two reports; if
// there are too many, each response closes its connection, so that more jobs can report in turn.
var connections = boundedlistener.Bounds{
	Strangers: 256, StrangersPerAddress: 32, StrangerBytes: maxHandshakeBytes + maxHeaderBytes + 2*readAhead,
	Known: 2048, KnownPerClient: maxInFlightPerPod,
	// The agents of many pods can share a node's address.
	NewPerSecond: 20, Burst: 200,
}

// Limits of the size and time of a connection's data.
const (
	// maxHeaderBytes fits the token; net/http reads readAhead more before it fails, and as much of a body.
	maxHeaderBytes = maxTokenBytes + 2<<10
	readAhead      = 4 << 10
	// maxHandshakeBytes is several times what a client sends, which is below 2 KiB even with post-quantum
	// keys. Without it crypto/tls would keep 64 KiB of an incomplete message.
	maxHandshakeBytes = 8 << 10
	// maxBodies is the number of bodies that are read concurrently. Reports that wait for a write do not
	// count.
	maxBodies = 256
	// headerTimeout also bounds the TLS handshake. It is as long as an agent waits, for nodes without spare
	// CPU time: the number of strangers is bounded.
	headerTimeout = 8 * time.Second
	readTimeout   = 8 * time.Second
	// commitWait bounds the wait for the write of a commit. An agent waits 10 s for its response.
	commitWait = 8 * time.Second
	// writeTimeout runs from the end of the header, so it includes reading, checking and the wait for a
	// commit.
	writeTimeout = readTimeout + reviewTimeout + commitWait + 2*time.Second
	idleTimeout  = 2 * time.Minute
	// shutdownTimeout for the responses in flight.
	shutdownTimeout = 5 * time.Second
)

// Limits of the token reviews.
const (
	// maxTokenBytes is several times what the API server issues, about 1 KiB.
	maxTokenBytes = 8 << 10
	// acceptedFor is how long an accepted token is cached. A deleted pod is rejected at once, because it
	// leaves the pod cache.
	acceptedFor = time.Minute
	rejectedFor = 10 * time.Second
	// Accepted and rejected tokens have separate caches, so that a flood of bad tokens evicts no good one.
	maxAccepted, maxRejected = 16384, 1024
	// reviewTimeout and maxReviews bound the load on the API server.
	reviewTimeout = 5 * time.Second
	maxReviews    = 32
	// Reviews have their own client, so that a flood does not delay the reconciler's requests. Each pod that
	// reports needs one review in acceptedFor.
	reviewsPerSecond, reviewBurst = 100, 200
)

// Rate limits.
const (
	// An agent reports every 10 s, and at most once a second if it has news.
	podRate  = rate.Limit(1)
	podBurst = 10
	maxPods  = 16384
	// Each rejected token costs the API server a review, so they are limited by address.
	badTokenInterval = 2 * time.Second
	badTokenBurst    = 20
	maxAddresses     = 4096
	// maxInFlightPerPod: an agent sends one report at a time. The second can arrive before the server notices
	// that the agent has given up the first.
	maxInFlightPerPod = 2
)
