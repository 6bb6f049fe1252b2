package problem

import (
	"net/http"
	"slices"
)

// Type of a Problem: what a client tells apart.
type Type struct {
	// URI is stable, and nothing is to be found there.
	URI    string
	Title  string
	Status int
	// Means is a sentence for docs/rest.md.
	Means string
}

const prefix = "urn:mlplatform:problem:"

// Types of problems.
var (
	Malformed = Type{prefix + "malformed", "Malformed request", http.StatusBadRequest,
		"The body cannot be read, or has a field that does not exist or cannot be written."}
	Unauthenticated = Type{prefix + "unauthenticated", "Not authenticated", http.StatusUnauthorized,
		"The request has no credentials, or some that are not accepted."}
	Forbidden = Type{prefix + "forbidden", "Forbidden", http.StatusForbidden,
		"The cluster does not let the caller do this, as it would not with kubectl."}
	NotFound = Type{prefix + "not-found", "Not found", http.StatusNotFound,
		"There is no such object, cluster or path."}
	MethodNotAllowed = Type{prefix + "method-not-allowed", "Method not allowed", http.StatusMethodNotAllowed,
		"The path does not take this method; the header Allow has those that it takes."}
	NotAcceptable = Type{prefix + "not-acceptable", "Not acceptable", http.StatusNotAcceptable,
		"The answer is not served in a media type that the header Accept names."}
	Timeout = Type{prefix + "request-timeout", "Request timeout", http.StatusRequestTimeout,
		"The request did not arrive in time."}
	Conflict = Type{prefix + "conflict", "Conflict", http.StatusConflict,
		"The object is in a state, or has changed meanwhile, so that the request cannot be carried out."}
	AlreadyExists = Type{prefix + "already-exists", "Already exists", http.StatusConflict,
		"An object of this name exists."}
	Expired = Type{prefix + "expired", "Expired", http.StatusGone,
		"What the request refers to is no longer known."}
	PreconditionFailed = Type{prefix + "precondition-failed", "Precondition failed",
		http.StatusPreconditionFailed, "The object is not the one, or not the version, that If-Match names."}
	TooLarge = Type{prefix + "too-large", "Request too large", http.StatusRequestEntityTooLarge,
		"The body is larger than the server takes."}
	UnsupportedMediaType = Type{prefix + "unsupported-media-type", "Unsupported media type",
		http.StatusUnsupportedMediaType, "The body's Content-Type is not one that the path takes."}
	Invalid = Type{prefix + "invalid", "Invalid", http.StatusUnprocessableEntity,
		"A parameter or a field has a value that it cannot have."}
	TooManyRequests = Type{prefix + "too-many-requests", "Too many requests", http.StatusTooManyRequests,
		"The caller, or everybody together, asks too much; Retry-After says when to ask again."}
	Internal = Type{prefix + "internal", "Internal error", http.StatusInternalServerError,
		"The server has failed; its log says why."}
	BadGateway = Type{prefix + "bad-gateway", "Bad gateway", http.StatusBadGateway,
		"The cluster cannot be reached, or refuses the server itself."}
	NotSynced = Type{prefix + "not-synced", "Not synced", http.StatusServiceUnavailable,
		"The server has not read the cluster's jobs yet; Retry-After says when to ask again."}
	Unavailable = Type{prefix + "unavailable", "Unavailable", http.StatusServiceUnavailable,
		"The server lacks what it needs to answer now, such as its database or a right in the cluster."}
	GatewayTimeout = Type{prefix + "gateway-timeout", "Gateway timeout", http.StatusGatewayTimeout,
		"The cluster did not answer in time."}
)

// types in the order of their statuses. Of those with the same status the first stands for it.
var types = []Type{
	Malformed, Unauthenticated, Forbidden, NotFound, MethodNotAllowed, NotAcceptable, Timeout, Conflict,
	AlreadyExists, Expired, PreconditionFailed, TooLarge, UnsupportedMediaType, Invalid, TooManyRequests,
	Internal,
	BadGateway, Unavailable, NotSynced, GatewayTimeout,
}

// Types lists all types of problems, in the order of their statuses.
func Types() []Type { return slices.Clone(types) }
