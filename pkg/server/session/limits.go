package session

import "time"

const (
	// loginLasts is how long a user has to log in at the issuer.
	loginLasts = 10 * time.Minute
	// loginsOfOne is the number of concurrent logins of a browser, in as many tabs. They fit into 8 KiB of
	// cookies, the limit of some proxies.
	loginsOfOne = 4
	// linkLasts is how long the one-time link is valid.
	linkLasts = 10 * time.Minute

	// sessionsOfOne is the number of sessions of a user; the least recently used of more end.
	sessionsOfOne = 20
	// usedAfter is how often the use of a session is recorded.
	usedAfter = 5 * time.Minute
	maxUses   = 256
	// pruneEvery is how often expired sessions are deleted.
	pruneEvery = 10 * time.Minute
	// watchEvery is how often requests of ended sessions are ended.
	watchEvery = 15 * time.Second
	// storeTimeout limits store calls outside of requests.
	storeTimeout = 10 * time.Second
	// countTimeout is shorter than a scrape.
	countTimeout = time.Second

	// maxRedeemed logins are remembered, each of which can be used once.
	maxRedeemed = 10_000

	// maxNextBytes of the path to which a login leads. The login's cookie holds it; browsers accept 4096
	// bytes.
	maxNextBytes = 1024
	// maxIssuerErrorBytes is how much of an issuer's error is shown.
	maxIssuerErrorBytes = 200
	// maxSecretBytes of a client's secret.
	maxSecretBytes = 4 << 10
)
