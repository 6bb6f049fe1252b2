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
	maxReviews    = 32 // for reports, and as many for beats
	// Reviews have their own client, so that a flood does not delay the reconciler's requests. Each pod that
	// reports needs one review in acceptedFor. Beats have another such client.
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

// Limits of the beats. They share none of those of the reports, except connections.
const (
	// maxBeatRanks are kept; beyond them the one without a beat for longest is removed. Each takes less than
	// 1 KiB, with its cached token.
	maxBeatRanks = 65536
	// beatsPerSecond of all ranks together; the intervals below are the bounds for a single rank.
	beatsPerSecond  = 100
	minBeatInterval = 30 * time.Second
	maxBeatInterval = 10 * time.Minute
	// maxBeatsInFlight are handled concurrently. A beat takes a millisecond, or as long as the API server needs
	// to review its token.
	maxBeatsInFlight = 64
	// beatReadTimeout for a body of at most 1 KiB, which the agent sends with the header.
	beatReadTimeout = 2 * time.Second
	// beatRate and beatBurst are one rank's: it sends every 30 s or less often, and again after an error.
	beatRate  = 10 * time.Second
	beatBurst = 3
	// beatReviewsPerSecond sets how long a beat's token is cached, within the bounds below. A longer time than
	// for reports is safe: a rank can change only its own record, and the server looks up its pod for each
	// beat. The kubelet's new tokens, one in 48 minutes for each rank, add to these reviews.
	beatReviewsPerSecond = 5
	minBeatToken         = 10 * time.Minute
	maxBeatToken         = 40 * time.Minute
)
