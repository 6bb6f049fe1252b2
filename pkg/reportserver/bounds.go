package reportserver

import (
	"time"

	"golang.org/x/time/rate"

	"mlplatform.example.com/trainingjob-operator/pkg/boundedlistener"
)

// connections of agents that have not yet shown whose they are, and of rank 0 of running jobs. An honest
// agent has one, and is a stranger for milliseconds. Only known ones stay open between two reports: where
// there are too many of them, each answer closes its connection, so that more jobs can report in turn.
var connections = boundedlistener.Bounds{
	Strangers: 256, StrangersPerAddress: 32, StrangerBytes: maxHandshakeBytes + maxHeaderBytes + 2*readAhead,
	Known: 2048, KnownPerClient: maxInFlightPerPod,
	// The agents of many pods may share a node's address.
	NewPerSecond: 20, Burst: 200,
}

// Bounds of what one connection may send, and how slowly.
const (
	// maxHeaderBytes beside the token; net/http reads readAhead more before it gives up, and as much of a body.
	maxHeaderBytes = maxTokenBytes + 2<<10
	readAhead      = 4 << 10
	// maxHandshakeBytes is several times what a client sends, which is under 2 KiB even with the keys that
	// resist quantum computers. Without it crypto/tls would keep 64 KiB of a message whose end never comes.
	maxHandshakeBytes = 8 << 10
	// maxBodies are read at the same time. Reports that wait for a write do not count.
	maxBodies = 256
	// headerTimeout also bounds the TLS handshake. It may be as long as an agent waits, even on a node without
	// CPU time to spare: what strangers cost is bounded by their number.
	headerTimeout = 8 * time.Second
	readTimeout   = 8 * time.Second
	// commitWait bounds the wait for the write of a commit. An agent waits 10 s for its answer.
	commitWait = 8 * time.Second
	// writeTimeout runs from the end of the header, so it includes reading, checking and the wait for a
	// commit.
	writeTimeout = readTimeout + reviewTimeout + commitWait + 2*time.Second
	idleTimeout  = 2 * time.Minute
	// shutdownTimeout for the answers in flight.
	shutdownTimeout = 5 * time.Second
)

// Bounds of the token reviews.
const (
	// maxTokenBytes is several times what the API server issues, about 1 KiB.
	maxTokenBytes = 8 << 10
	// acceptedFor is how long an accepted token is cached. A deleted pod is rejected at once all the same,
	// because it leaves the pod cache.
	acceptedFor = time.Minute
	rejectedFor = 10 * time.Second
	// Accepted and rejected tokens are cached apart, so that a flood of bad tokens evicts no good one.
	maxAccepted, maxRejected = 16384, 1024
	// reviewTimeout and maxReviews bound the load on the API server.
	reviewTimeout = 5 * time.Second
	maxReviews    = 32
	// Reviews have a client of their own, so that no flood takes the API server's time from the reconciler. Each
	// pod that reports needs one review in acceptedFor.
	reviewsPerSecond, reviewBurst = 100, 200
)

// Rate limits.
const (
	// An agent reports every 10 s, and at most once a second when it has news.
	podRate  = rate.Limit(1)
	podBurst = 10
	maxPods  = 16384
	// Each token that is rejected costs the API server a review. They are limited by the address they come
	// from.
	badTokenInterval = 2 * time.Second
	badTokenBurst    = 20
	maxAddresses     = 4096
	// maxInFlightPerPod: an agent sends one report at a time. The second may arrive before the server
	// notices that the agent has given up the first.
	maxInFlightPerPod = 2
)
