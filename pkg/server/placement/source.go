package placement

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Problem with what is known of a cluster.
type Problem struct {
	// Detail is what is wrong, and what is not known for it; Remedy is what helps.
	Detail, Remedy string
}

// trouble with a source.
type trouble int

const (
	none trouble = iota
	// forbidden: the server lacks the right.
	forbidden
	// away: the cluster does not answer, or not as it should.
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

// source is what is known of a list: that of the nodes or that of the pods.
type source struct {
	// what it lists.
	what string
	// unknown is what is not known without it.
	unknown string
	// listed reports whether it was read once.
	listed  bool
	trouble trouble
}

func (s *source) problems(cluster string) []Problem {
	known := "what is shown is as it was seen last"
	if !s.listed {
		known = "it is not known " + s.unknown
	}
	switch {
	case s.trouble == forbidden:
		return []Problem{{
			fmt.Sprintf("The server may not list and watch the %s of cluster %s: %s.", s.what, cluster, known),
			"Ask an admin to give its account there the rights in deploy/server/role.yaml.",
		}}
	case s.trouble == away:
		return []Problem{{
			fmt.Sprintf("Cluster %s does not let its %s be followed: %s.", cluster, s.what, known),
			"The server tries again by itself; where this lasts, tell an admin: its log has the reason.",
		}}
	case !s.listed:
		return []Problem{{
			fmt.Sprintf("The %s of cluster %s are still being read: %s.", s.what, cluster, known), "Wait a moment.",
		}}
	}
	return nil
}
