package placement

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Problem with the state of a cluster.
type Problem struct {
	// Detail is the problem and what is unknown because of it; Remedy is how to solve it.
	Detail, Remedy string
}

// trouble with a source.
type trouble int

const (
	none trouble = iota
	// forbidden: the server lacks the right.
	forbidden
	// away: the cluster does not answer, or fails.
	away
)

func troubleOf(err error) trouble {
	switch {
	case err == nil:
		return none
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return forbidden
	}
	return away
}

// source is the state of a list: of the nodes or of the pods.
type source struct {
	// what it lists.
	what string
	// unknown is what is unknown without it.
	unknown string
	// listed reports whether it was listed at least once.
	listed  bool
	trouble trouble
}

func (s *source) problems(cluster string) []Problem {
	known := "the map shows the last known state"
	if !s.listed {
		known = "it is unknown " + s.unknown
	}
	switch {
	case s.trouble == forbidden:
		return []Problem{{
			fmt.Sprintf("The server may not list and watch the %s of cluster %s: %s.", s.what, cluster, known),
			"Ask an admin to grant its account there the rights in deploy/server/role.yaml.",
		}}
	case s.trouble == away:
		return []Problem{{
			fmt.Sprintf("The server cannot watch the %s of cluster %s: %s.", s.what, cluster, known),
			"The server retries. If this lasts, ask an admin to look for the cause in its log.",
		}}
	case !s.listed:
		return []Problem{{
			fmt.Sprintf("The server is still reading the %s of cluster %s: %s.", s.what, cluster, known),
			"Wait a moment.",
		}}
	}
	return nil
}
