package agent

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// maxPathText bounds a path in a report, in bytes.
const maxPathText = 1024

// maxPassedOver bounds the checkpoints that a report names as passed over.
const maxPassedOver = 8

// location is where the job's checkpoints lie.
type location struct {
	// dir holds this attempt's checkpoints, and base all attempts' directories. Both are empty without a volume.
	dir, base string
	// uri of base; nil: checkpoints are reported by their path.
	uri *checkpoint.URI
	// objectStore: the checkpoints lie on an object store, which only the trainer can see.
	objectStore bool
}

var attemptDir = regexp.MustCompile(`^attempt-[1-9][0-9]*$`)

// parseLocation reads the attempt's directory, which is a path or the URI of an object store, and the URI
// of base.
func parseLocation(dir, uri string) (location, error) {
	l := location{dir: dir}
	if uri != "" {
		u, err := checkpoint.ParseURI(uri)
		if err != nil {
			return l, err
		}
		l.uri = &u
	}
	if strings.Contains(dir, "://") {
		u, err := checkpoint.ParseURI(dir)
		if err != nil {
			return l, err
		}
		if l.objectStore = true; l.uri == nil {
			l.uri = &u
		}
		l.dir = ""
		return l, nil
	}
	if dir == "" {
		return l, nil
	}
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
		return l, fmt.Errorf("dir is %q: give a clean absolute path", dir)
	}
	if l.base = dir; attemptDir.MatchString(filepath.Base(dir)) {
		l.base = filepath.Dir(dir)
	}
	return l, nil
}

// uriOf returns how a path below base is reported.
func (l location) uriOf(rel string) (string, error) {
	if l.uri == nil {
		return checkpoint.Printable(filepath.Join(l.base, rel), maxPathText), nil
	}
	u, err := l.uri.Join(rel)
	return u.String(), err
}

// pathOf returns the path below base of a checkpoint given by its URI or path; empty if it lies elsewhere.
func (l location) pathOf(point string) string {
	if l.uri != nil && strings.Contains(point, "://") {
		u, err := checkpoint.ParseURI(point)
		if err != nil {
			return ""
		}
		if point, err = (checkpoint.Mount{Dir: l.base, URI: *l.uri}).PathOf(u); err != nil {
			return ""
		}
	}
	rel, err := filepath.Rel(l.base, point)
	if point == "" || err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// passedOver returns how the first checkpoints that were passed over are reported.
func (l location) passedOver(found []checkpoint.Found) []checkpoint.Passed {
	var out []checkpoint.Passed
	for _, f := range found[:min(len(found), maxPassedOver)] {
		uri, err := l.uriOf(f.Path)
		if err != nil {
			uri = checkpoint.Printable(f.Path, maxPathText)
		}
		out = append(out, checkpoint.Passed{URI: uri, Why: f.Why})
	}
	return out
}
