package identity

import "time"

// Limits for requests before authentication.
const (
	// maxTokenBytes fits tokens with hundreds of groups; proxies rarely accept larger headers.
	maxTokenBytes = 32 << 10

	// An address can send rejectedBurst rejected tokens in a burst, and one more in each rejectedInterval.
	rejectedInterval = time.Second
	rejectedBurst    = 20
	maxAddresses     = 10_000

	// How long an accepted token is cached, at most until it expires. A token of Kubernetes becomes invalid
	// earlier if its pod or account is deleted.
	acceptedFor       = time.Minute
	reviewAcceptedFor = 10 * time.Second
	maxAccepted       = 10_000
	// How long rejections of the API server are cached.
	reviewRejectedFor = 10 * time.Second
	maxRejected       = 10_000

	maxReviews       = 16
	reviewTimeout    = 10 * time.Second
	retryUnavailable = 5 * time.Second
	retryTooMany     = time.Second

	// Limits for responses of an issuer.
	maxDocumentBytes = 1 << 20
	issuerTimeout    = 10 * time.Second
	// keysFresh is the minimum time between two reads of an issuer's keys.
	keysFresh = time.Second
	// Delay before the discovery document is read again after a failure; it doubles.
	firstRetry = time.Second
	lastRetry  = time.Minute
	// The discovery document and the CAs are read again after this time: algorithms and key URLs change.
	rediscoverAfter = time.Hour
	// The CAs of the proxies are read again after this time.
	rereadAfter = time.Minute
)
