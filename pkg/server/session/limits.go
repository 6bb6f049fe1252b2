package session

import "time"

const (
	// loginLasts is how long a user has for the issuer's page.
	loginLasts = 10 * time.Minute
	// loginsOfOne browser may be under way, in as many tabs. Some proxies take 8 KiB of cookies, which is what
	// so many have at most.
	loginsOfOne = 4
	// linkLasts is how long the one-time link counts.
	linkLasts = 10 * time.Minute

	// sessionsOfOne user there may be: of more, those end that were unused for longest.
	sessionsOfOne = 20
	// usedAfter so long without a note of its use, it is noted that a session was used.
	usedAfter = 5 * time.Minute
	maxUses   = 256
	// pruneEvery so often sessions that are over are deleted.
	pruneEvery = 10 * time.Minute
	// watchEvery so often requests that last are ended whose session is over.
	watchEvery = 15 * time.Second
	// storeTimeout of what is done beside requests.
	storeTimeout = 10 * time.Second
	// countTimeout is less than a scrape takes.
	countTimeout = time.Second

	// An address may fail failedBurst logins at once, and one more in each failedInterval.
	failedInterval = 5 * time.Second
	failedBurst    = 20
	maxAddresses   = 10_000

	// maxNextBytes of the path to which a login leads. The cookie of a login holds it, of which browsers take
	// 4096 bytes.
	maxNextBytes = 1024
	// maxSaidBytes of what an issuer says of a failed login.
	maxSaidBytes = 200
	// maxSecretBytes of a client's secret.
	maxSecretBytes = 4 << 10
)
