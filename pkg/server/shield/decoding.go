package shield

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
)

// Limits of all concurrent decoding, in nodes. A node takes up to 400 bytes while it is decoded. Small
// documents have their own pool, so that they do not wait behind large ones.
const (
	smallNodes           = 5_000
	decodedSmall         = 100_000
	decodedLarge         = 200_000
	retryDecodingSeconds = 5
)

// decoding limits the memory of decoding.
type decoding struct{ small, large *semaphore.Weighted }

func newDecoding() decoding {
	return decoding{small: semaphore.NewWeighted(decodedSmall), large: semaphore.NewWeighted(decodedLarge)}
}

// Decode waits until the request may decode a document with the given nodes. The caller calls leave when it
// no longer needs the result, and must not call Decode again before. The error is an *Error: the request
// timed out. Outside of a Shield's Handler there is no limit.
func Decode(ctx context.Context, nodes int) (leave func(), err error) {
	q, ok := ctx.Value(requestKey{}).(*request)
	if !ok {
		return func() {}, nil
	}
	pool, weight := q.shield.decoding.large, min(int64(nodes), decodedLarge)
	if nodes <= smallNodes {
		pool = q.shield.decoding.small
	}
	if pool.Acquire(ctx, weight) != nil {
		q.shield.metrics.rejected.WithLabelValues(reasonBusy).Inc()
		return nil, &Error{
			Status: http.StatusServiceUnavailable, RetryAfter: retryDecodingSeconds * time.Second,
			Detail: "the server is decoding too many large bodies", Remedy: "send the request again",
			reason: reasonBusy,
		}
	}
	return func() { pool.Release(weight) }, nil
}
