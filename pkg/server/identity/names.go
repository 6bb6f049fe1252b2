package identity

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// reserved is the prefix of names that Kubernetes reserves.
const reserved = "system:"

// Limits for one user.
const (
	maxNameBytes = 512
	maxGroups    = 1000
)

// nameProblem returns what is wrong with the name of a user or group, or "". API servers receive names in
// headers, which lose spaces at the ends: "jane " would become jane.
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

// givenProblem is nameProblem for names from an issuer or a proxy.
func givenProblem(name string) string {
	if strings.HasPrefix(name, reserved) {
		return "begins with " + reserved + ", which Kubernetes reserves"
	}
	return nameProblem(name)
}

// groupsProblem returns what is wrong with a user's groups, or "".
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

// inOrder returns the groups sorted and unique.
func inOrder(groups []string) []string {
	groups = slices.Clone(groups)
	slices.Sort(groups)
	return slices.Compact(groups)
}
