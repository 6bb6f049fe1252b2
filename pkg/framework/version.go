package framework

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Reads reports whether a release of the framework reads what the operator tells its ranks: false for one
// before MinVersion. version begins with the major and the minor number; of one that does not, nothing is
// known, and so true.
func (f Framework) Reads(version string) bool {
	least, ok := parseVersion(f.MinVersion)
	given, known := parseVersion(version)
	return !ok || !known || cmp.Or(cmp.Compare(given[0], least[0]), cmp.Compare(given[1], least[1])) >= 0
}

// VersionMessage tells a user what to change in a job whose version the framework's MinVersion rules out.
func (f Framework) VersionMessage() string {
	return fmt.Sprintf("releases of %s before %s do not read what the operator tells the ranks: use a newer "+
		"image, or set spec.framework to custom", f.Name, f.MinVersion)
}

// parseVersion reads the major and the minor number of a version.
func parseVersion(version string) (numbers [2]int, ok bool) {
	major, rest, found := strings.Cut(version, ".")
	if !found {
		return numbers, false
	}
	minor := rest
	if end := strings.IndexAny(rest, ".-"); end >= 0 {
		minor = rest[:end]
	}
	var errs [2]error
	numbers[0], errs[0] = strconv.Atoi(major)
	numbers[1], errs[1] = strconv.Atoi(minor)
	return numbers, errs[0] == nil && errs[1] == nil
}
