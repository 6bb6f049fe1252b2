package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// wheelName of the Python package, of its folder and of its distribution.
const wheelName = "trainingjob"

// wheelMetadata repeats python/pyproject.toml, and a test compares the two. The description follows
// (https://packaging.python.org/en/latest/specifications/core-metadata/).
const wheelMetadata = `Metadata-Version: 2.4
Name: trainingjob
Version: %s
Summary: Reports progress to the TrainingJob operator, and saves and stops on its request
License-Expression: Apache-2.0
License-File: LICENSE
Requires-Python: >=3.9
Description-Content-Type: text/markdown
Provides-Extra: huggingface
Requires-Dist: transformers; extra == "huggingface"
Provides-Extra: lightning
Requires-Dist: lightning; extra == "lightning"
Provides-Extra: keras
Requires-Dist: keras>=3; extra == "keras"

`

// wheelFormat of a package without compiled parts
// (https://packaging.python.org/en/latest/specifications/binary-distribution-format/).
const wheelFormat = `Wheel-Version: 1.0
Generator: trainingjob-operator-release
Root-Is-Purelib: true
Tag: py3-none-any
`

var pythonVersions = regexp.MustCompile(
	`^v((?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){2})(?:-(alpha|beta|rc)\.(0|[1-9][0-9]*))?$`)

// pythonVersion returns a release's version as Python spells it (PEP 440): v0.2.0-rc.1 is 0.2.0rc1.
func pythonVersion(version string) (string, error) {
	m := pythonVersions.FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("the version %q has no equal in Python: make release VERSION=v0.2.0, or "+
			"v0.2.0-alpha.1, v0.2.0-beta.1 or v0.2.0-rc.1 before a release", version)
	}
	stages := map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}
	return m[1] + stages[m[2]] + m[3], nil
}

func wheelFile(version string) string { return wheelName + "-" + version + "-py3-none-any.whl" }

// wheel is the Python package in python/.
func (r *release) wheel(context.Context) error {
	version, err := pythonVersion(r.options.version)
	if err != nil {
		return err
	}
	entries, err := wheelEntries(r.root, version)
	if err != nil {
		return fmt.Errorf("packaging python/: %w", err)
	}
	return r.dist.create(wheelFile(version), func(w io.Writer) error {
		return writeZip(w, entries, r.source.time)
	})
}

// wheelEntries are the files of the package in the module in root, and those that describe it. RECORD is the
// last.
func wheelEntries(root, version string) ([]entry, error) {
	sources, err := filepath.Glob(filepath.Join(root, "python", wheelName, "*.py"))
	if err != nil {
		return nil, err
	}
	sources = append(sources, filepath.Join(root, "python", wheelName, "py.typed"))
	slices.Sort(sources)
	info := wheelName + "-" + version + ".dist-info/"
	var entries []entry
	for _, path := range sources {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{wheelName + "/" + filepath.Base(path), 0o644, content})
	}
	licenseText, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	readme, err := os.ReadFile(filepath.Join(root, "python", "README.md"))
	if err != nil {
		return nil, err
	}
	metadata := append(fmt.Appendf(nil, wheelMetadata, version), readme...)
	entries = append(entries,
		entry{info + "licenses/LICENSE", 0o644, licenseText},
		entry{info + "METADATA", 0o644, metadata},
		entry{info + "WHEEL", 0o644, []byte(wheelFormat)},
	)
	return append(entries, entry{info + "RECORD", 0o644, wheelRecord(entries, info+"RECORD")}), nil
}

// wheelRecord lists the entries with their hashes and sizes, and itself without.
func wheelRecord(entries []entry, self string) []byte {
	var record strings.Builder
	for _, e := range entries {
		sum := sha256.Sum256(e.content)
		hash := base64.RawURLEncoding.EncodeToString(sum[:])
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", e.name, hash, len(e.content))
	}
	fmt.Fprintf(&record, "%s,,\n", self)
	return []byte(record.String())
}
