package identity

import "time"

// Bounds of what strangers cause.
const (
	// maxTokenBytes holds tokens with hundreds of groups; headers of more are rarely let through by proxies.
	maxTokenBytes = 32 << 10

	// An address may send rejectedBurst tokens that are not accepted at once, and one more in each
	// rejectedInterval.
	rejectedInterval = time.Second
	rejectedBurst    = 20
	maxAddresses     = 10_000

	// A token that was accepted is not looked at again for so long, and not after its end. A token of Kubernetes
	// ends early when its pod or account is deleted.
	acceptedFor       = time.Minute
	reviewAcceptedFor = 10 * time.Second
	maxAccepted       = 10_000
	// What the API server has rejected it is not asked about again for so long.
	reviewRejectedFor = 10 * time.Second
	maxRejected       = 10_000

	maxReviews       = 16
	reviewTimeout    = 10 * time.Second
	retryUnavailable = 5 * time.Second
	retryTooMany     = time.Second

	// What an issuer answers.
	maxDocumentBytes = 1 << 20
	issuerTimeout    = 10 * time.Second
	// keysFresh is for how long an issuer's keys are not asked for again, whatever tokens arrive.
	keysFresh = time.Second
	// Of an issuer that has not answered yet, the discovery document is asked for after delays that double.
	firstRetry = time.Second
	lastRetry  = time.Minute
	// Of any other it is asked for anew, with the CAs, since its algorithms or the place of its keys may change.
	rediscoverAfter = time.Hour
	// The CAs of the proxies.
	rereadAfter = time.Minute
)
