package problem

import (
	"net/http"
	"slices"
)

// Type of a Problem, by which clients distinguish problems.
type Type struct {
	// URI is a stable identifier. It does not resolve.
	URI    string
	Title  string
	Status int
	// Means is a sentence for docs/server.md.
	Means string
}

const prefix = "urn:mlplatform:problem:"

// Types of problems.
var (
	Malformed = Type{prefix + "malformed", "Malformed request", http.StatusBadRequest,
		"Unreadable body, or an unknown or read-only field."}
	Unauthenticated = Type{prefix + "unauthenticated", "Not authenticated", http.StatusUnauthorized,
		"Missing or invalid credentials."}
	Forbidden = Type{prefix + "forbidden", "Forbidden", http.StatusForbidden,
		"RBAC of the cluster denies the request."}
	NotFound = Type{prefix + "not-found", "Not found", http.StatusNotFound,
		"No such object, cluster or path."}
	MethodNotAllowed = Type{prefix + "method-not-allowed", "Method not allowed", http.StatusMethodNotAllowed,
		"Unsupported method; see the header Allow."}
	NotAcceptable = Type{prefix + "not-acceptable", "Not acceptable", http.StatusNotAcceptable,
		"Unsupported media type in the header Accept."}
	Timeout = Type{prefix + "request-timeout", "Request timeout", http.StatusRequestTimeout,
		"The request did not arrive in time."}
	Conflict = Type{prefix + "conflict", "Conflict", http.StatusConflict,
		"The state of the object does not allow the request, or it has changed."}
	AlreadyExists = Type{prefix + "already-exists", "Already exists", http.StatusConflict,
		"An object with this name exists."}
	Expired = Type{prefix + "expired", "Expired", http.StatusGone,
		"A token or position has expired."}
	PreconditionFailed = Type{prefix + "precondition-failed", "Precondition failed",
		http.StatusPreconditionFailed, "The object or version differs from If-Match."}
	TooLarge = Type{prefix + "too-large", "Request too large", http.StatusRequestEntityTooLarge,
		"The body is too large."}
	UnsupportedMediaType = Type{prefix + "unsupported-media-type", "Unsupported media type",
		http.StatusUnsupportedMediaType, "Unsupported Content-Type."}
	Invalid = Type{prefix + "invalid", "Invalid", http.StatusUnprocessableEntity,
		"Invalid value of a parameter or field."}
	TooManyRequests = Type{prefix + "too-many-requests", "Too many requests", http.StatusTooManyRequests,
		"Limit exceeded; see Retry-After."}
	Internal = Type{prefix + "internal", "Internal error", http.StatusInternalServerError,
		"The server failed; its log has the cause."}
	BadGateway = Type{prefix + "bad-gateway", "Bad gateway", http.StatusBadGateway,
		"The cluster is unreachable, or refuses the server itself."}
	NotSynced = Type{prefix + "not-synced", "Not synced", http.StatusServiceUnavailable,
		"The server has not listed the jobs yet; see Retry-After."}
	Unavailable = Type{prefix + "unavailable", "Unavailable", http.StatusServiceUnavailable,
		"A dependency is missing, such as the database or a right in the cluster."}
	GatewayTimeout = Type{prefix + "gateway-timeout", "Gateway timeout", http.StatusGatewayTimeout,
		"The cluster did not answer in time."}
)

// types in the order of their statuses. The first with a status represents it.
var types = []Type{
	Malformed, Unauthenticated, Forbidden, NotFound, MethodNotAllowed, NotAcceptable, Timeout, Conflict,
	AlreadyExists, Expired, PreconditionFailed, TooLarge, UnsupportedMediaType, Invalid, TooManyRequests,
	Internal,
	BadGateway, Unavailable, NotSynced, GatewayTimeout,
}

// Types lists all types of problems, in the order of their statuses.
func Types() []Type { return slices.Clone(types) }
