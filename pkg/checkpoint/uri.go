package checkpoint

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// URI of a checkpoint or of a directory of checkpoints. It is a name: nothing in this package connects to it.
//
//	pvc://<claim>/<path>      a PersistentVolumeClaim in the job's namespace
//	s3://<bucket>/<key>       gs://<bucket>/<key>
//	az://<account>/<container>/<key>      abfss://<container>@<account>.dfs.core.windows.net/<key>
type URI struct {
	Scheme string
	// Authority is the claim, the bucket, the storage account or <container>@<account's host>.
	Authority string
	// Path without leading or trailing slash. Empty: the root of the claim, bucket or account.
	Path string
}

const maxURILen = 1024

// authorities by scheme. Sources: Kubernetes DNS-1123 subdomains; the naming rules of S3 and GCS buckets, of
// Azure storage accounts (3-24 letters and digits) and containers (3-63).
var authorities = map[string]struct {
	pattern *regexp.Regexp
	what    string
}{
	"pvc": {regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`), "a claim's name"},
	"s3":  {regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`), "a bucket's name"},
	"gs":  {regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$`), "a bucket's name"},
	"az":  {regexp.MustCompile(`^[a-z0-9]{3,24}$`), "a storage account's name"},
	"abfss": {
		regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]@[a-z0-9]{3,24}\.dfs\.core\.windows\.net$`),
		"<container>@<account>.dfs.core.windows.net",
	},
}

// segment of a path. Without % nothing is encoded; without \ : ? # no reader can mistake it for an escape, a
// port or a query.
var segment = regexp.MustCompile(`^[A-Za-z0-9._=+@,~-]+$`)

// ParseURI reads a URI. Its errors are FormatErrors that show no credentials.
func ParseURI(s string) (URI, error) {
	reject := func(problem, remedy string) (URI, error) {
		return URI{}, &FormatError{"URI", shorten(Printable(hideCredentials(s), 120), 120), problem, remedy}
	}
	if len(s) > maxURILen {
		return reject(fmt.Sprintf("has %d bytes", len(s)), fmt.Sprintf("at most %d are allowed", maxURILen))
	}
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f {
			return reject("has a space, a control character or one beyond ASCII", "use letters, digits and ._=+@,~-")
		}
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return reject("has no scheme", "write pvc://<claim>/<path>, s3://, gs://, az:// or abfss://")
	}
	kind, ok := authorities[scheme]
	if !ok {
		return reject("has the scheme "+shorten(scheme, 16), "use pvc, s3, gs, az or abfss")
	}
	authority, key, _ := strings.Cut(rest, "/")
	if user, _, at := strings.Cut(authority, "@"); at && (scheme != "abfss" || strings.Contains(user, ":")) {
		return reject("has credentials in it", "take them out and give them to the trainer as a secret")
	}
	if !kind.pattern.MatchString(authority) || (scheme == "pvc" && strings.Contains(authority, "..")) {
		return reject("does not begin with "+kind.what, "write "+scheme+"://<"+kind.what+">/<path>")
	}
	u := URI{Scheme: scheme, Authority: authority, Path: strings.TrimSuffix(key, "/")}
	if problem, remedy := checkPath(u.Path); problem != "" {
		return reject(problem, remedy)
	}
	if container, _, _ := strings.Cut(u.Path, "/"); scheme == "az" && !azContainer.MatchString(container) {
		return reject("names no container", "write az://<account>/<container>/<path>")
	}
	return u, nil
}

var azContainer = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$`)

func checkPath(p string) (problem, remedy string) {
	if p == "" {
		return "", ""
	}
	for s := range strings.SplitSeq(p, "/") {
		switch {
		case s == "":
			return "has an empty part (//)", "write single slashes"
		case s == "." || s == "..":
			return "has " + s + " in its path", "write the path without it"
		case strings.Contains(s, "%"):
			return "has an encoded character (%) in its path", "write the character itself"
		case !segment.MatchString(s):
			return "has a character in its path that is not allowed", "use letters, digits and ._=+@,~-"
		}
	}
	return "", ""
}

// hideCredentials removes credentials from a URI, so that the error that rejects them does not print them.
func hideCredentials(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return s
	}
	authority, key, _ := strings.Cut(rest, "/")
	if user, host, at := cutLast(authority, "@"); at && strings.Contains(user, ":") {
		authority = "…@" + host
	}
	if before, _, query := strings.Cut(key, "?"); query { // the query of a signed URL holds its credentials
		key = before + "?…"
	}
	return scheme + "://" + authority + "/" + key
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func (u URI) String() string {
	if u.Path == "" {
		return u.Scheme + "://" + u.Authority
	}
	return u.Scheme + "://" + u.Authority + "/" + u.Path
}

// Under reports whether u is base or lies below it. Parsed URIs contain no "..", so comparing text is enough.
func (u URI) Under(base URI) bool {
	_, ok := u.Rel(base)
	return ok
}

// Rel is u's path below base, "." if they are equal. It is false if u is not Under base.
func (u URI) Rel(base URI) (string, bool) {
	switch {
	case u.Scheme != base.Scheme || u.Authority != base.Authority:
		return "", false
	case u.Path == base.Path:
		return ".", true
	case base.Path == "":
		return u.Path, true
	}
	rel, ok := strings.CutPrefix(u.Path, base.Path+"/")
	return rel, ok
}

// Join is the URI of a path below u; the path is slash-separated as in fs.FS.
func (u URI) Join(rel string) (URI, error) {
	if rel == "." || rel == "" {
		return u, nil
	}
	return ParseURI(URI{u.Scheme, u.Authority, strings.TrimPrefix(u.Path+"/"+rel, "/")}.String())
}

// Mount maps the directory where a trainer sees a volume to the URI that everybody else uses.
type Mount struct {
	// Dir is absolute and clean.
	Dir string
	URI URI
}

// PathOf is the path of a URI below the mount.
func (m Mount) PathOf(u URI) (string, error) {
	rel, ok := u.Rel(m.URI)
	if !ok {
		return "", &FormatError{"URI", u.String(), "does not lie under " + m.URI.String(), "give one that does"}
	}
	return path.Join(m.Dir, rel), nil
}

// URIOf is the URI of a path below the mount's directory. Paths are compared as text: the caller must reject
// links.
func (m Mount) URIOf(p string) (URI, error) {
	clean := path.Clean(p)
	rel, ok := strings.CutPrefix(clean, strings.TrimSuffix(m.Dir, "/")+"/")
	switch {
	case clean == path.Clean(m.Dir):
		return m.URI, nil
	case !ok || !path.IsAbs(p) || p != clean:
		return URI{}, &FormatError{
			"path", Printable(p, 120), "does not lie under " + m.Dir, "give a clean absolute path that does",
		}
	}
	return m.URI.Join(rel)
}
