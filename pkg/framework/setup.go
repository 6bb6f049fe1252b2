package framework

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// MaxFileBytes bounds the size of all files of a rank together. They share the 256 KiB of a pod's
// annotations with the user's own (k8s.io/apimachinery/pkg/api/validation, TotalAnnotationSizeLimitB).
const MaxFileBytes = 64 << 10

// MaxEnvBytes bounds one variable of a framework with its name: Linux starts no program that is given a
// longer one (MAX_ARG_STRLEN, include/uapi/linux/binfmts.h, which counts the '=' and a final zero too).
const MaxEnvBytes = 128<<10 - 2

// maxFileName leaves space for a prefix in the 63 characters of an annotation key's name.
const maxFileName = 48

// Setup is what every container of one rank gets.
type Setup struct {
	// Env in a fixed order.
	Env []corev1.EnvVar
	// Files in Gang.FilesDir: contents by name.
	Files map[string]string
}

// Setup returns what every container of a rank gets. It fails if a file has no plain name (at most 48
// letters, digits, '-', '_' and '.', with a letter or digit at both ends), if a content is not UTF-8, or if a
// variable exceeds MaxEnvBytes or the files MaxFileBytes, which a large gang can cause.
func (f Framework) Setup(gang Gang, rank Rank) (Setup, error) {
	var s Setup
	if f.Env != nil {
		s.Env = f.Env(gang, rank)
	}
	for _, e := range s.Env {
		if size := len(e.Name) + len(e.Value); size > MaxEnvBytes {
			return Setup{}, fmt.Errorf("framework %s: %s for a gang of %d ranks has %d bytes, and no program starts "+
				"with more than %d: use fewer ranks or a shorter name", f.Name, e.Name, gang.Size(), size, MaxEnvBytes)
		}
	}
	if f.Files == nil {
		return s, nil
	}
	s.Files = f.Files(gang, rank)
	size := 0
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		if len(name) > maxFileName || strings.Contains(name, "/") || len(validation.IsQualifiedName(name)) > 0 {
			return Setup{}, fmt.Errorf("framework %s: %q is not a plain file name", f.Name, name)
		}
		if !utf8.ValidString(s.Files[name]) {
			return Setup{}, fmt.Errorf("framework %s: file %s is not text", f.Name, name)
		}
		size += len(s.Files[name])
	}
	if size > MaxFileBytes {
		return Setup{}, fmt.Errorf("framework %s: the files for a gang of %d ranks have %d bytes, more than %d",
			f.Name, gang.Size(), size, MaxFileBytes)
	}
	return s, nil
}
