package identity

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// reserved begins the names that Kubernetes keeps for itself.
const reserved = "system:"

// Bounds of what is known of one user.
const (
	maxNameBytes = 512
	maxGroups    = 1000
)

// nameProblem returns what is wrong with the name of a user or a group, or an empty text. Names travel in
// headers to the API server, where spaces at their ends would be lost: "jane " would become jane.
func nameProblem(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > maxNameBytes:
		return fmt.Sprintf("has more than %d bytes", maxNameBytes)
	case !utf8.ValidString(name):
		return "is not UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "has control characters"
	case strings.TrimSpace(name) != name:
		return "begins or ends with a space"
	}
	return ""
}

// givenProblem is nameProblem for names that an issuer or a proxy gives.
func givenProblem(name string) string {
	if strings.HasPrefix(name, reserved) {
		return "begins with " + reserved + ", which Kubernetes keeps for itself"
	}
	return nameProblem(name)
}

// groupsProblem returns what is wrong with a user's groups, or an empty text.
func groupsProblem(groups []string, problemOf func(string) string) string {
	if len(groups) > maxGroups {
		return fmt.Sprintf("has more than %d groups", maxGroups)
	}
	for _, group := range groups {
		if problem := problemOf(group); problem != "" {
			return fmt.Sprintf("has a group whose name %s", problem)
		}
	}
	return ""
}

// inOrder returns the groups sorted, each once.
func inOrder(groups []string) []string {
	groups = slices.Clone(groups)
	slices.Sort(groups)
	return slices.Compact(groups)
}
