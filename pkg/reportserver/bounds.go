package reportserver

import (
	"time"

	"golang.org/x/time/rate"
)

// Bounds of the connections. An honest agent needs a hundredth of them.
const (
	maxConnections = 4096
	// maxIdleConnections may stay open between two reports of their agents. Beyond them each answer closes
	// its connection, so that more than maxConnections jobs can report in turn.
	maxIdleConnections = maxConnections / 2
	maxHeaderBytes     = maxTokenBytes + 8<<10
	// maxBodies are read at the same time. Reports that wait for a write do not count.
	maxBodies = 256
	// headerTimeout also bounds the TLS handshake.
	headerTimeout = 5 * time.Second
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
	maxTokenBytes = 16 << 10
	// acceptedFor is how long an accepted token is cached. A deleted pod is rejected at once all the same,
	// because it leaves the pod cache.
	acceptedFor = time.Minute
	rejectedFor = 10 * time.Second
	// Accepted and rejected tokens are cached apart, so that a flood of bad tokens evicts no good one.
	maxAccepted, maxRejected = 16384, 1024
	// reviewTimeout and maxReviews bound the load on the API server.
	reviewTimeout = 5 * time.Second
	maxReviews    = 32
)

// Rate limits.
const (
	// An agent reports every 10 s, and at most once a second when it has news.
	podRate  = rate.Limit(1)
	podBurst = 10
	maxPods  = 16384
	// Each token that is rejected costs the API server a review. They are limited by the address they come
	// from.
	badTokenRate  = rate.Limit(0.5)
	badTokenBurst = 20
	maxAddresses  = 4096
	// maxInFlightPerPod: an agent sends one report at a time. The second may arrive before the server
	// notices that the agent has given up the first.
	maxInFlightPerPod = 2
)
