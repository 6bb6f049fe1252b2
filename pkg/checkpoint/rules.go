package checkpoint

import (
	"fmt"
	"io/fs"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// rule is what a field's rule tag demands of its value.
type rule struct {
	required           bool
	min, max           float64
	maxLen             int
	minItems, maxItems int
	enum               []string
	pattern, keys      string
}

// patterns by the name that rules give them. The schemas contain them too, so RE2 and ECMA 262 must both
// accept them.
var patterns = map[string]*regexp.Regexp{
	"id":        regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]*$`),
	"metric":    regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]{0,62}$`),
	"printable": regexp.MustCompile("^[^\\x00-\\x1f\\x7f-\u009f\u2028-\u202e\u2066-\u2069]*$"),
	"sha256":    regexp.MustCompile(`^[0-9a-f]{64}$`),
	// A path below the manifest. isFile rejects "..", which the pattern cannot.
	"file": regexp.MustCompile(`^[^/\\\x00-\x1f\x7f][^\\\x00-\x1f\x7f]*$`),
}

// remedies say in words what a pattern accepts.
var remedies = map[string]string{
	"id":        "use letters, digits and ._:-",
	"metric":    "use a letter first, then letters, digits and _./-, at most 63",
	"printable": "leave control characters out",
	"sha256":    "give 64 lower-case hexadecimal digits",
	"file":      "give a path below the manifest with / and without ..",
}

func parseRule(tag string) rule {
	r := rule{max: -1}
	for part := range strings.SplitSeq(tag, ",") {
		key, val, _ := strings.Cut(part, "=")
		number := func() float64 { n, _ := strconv.ParseFloat(val, 64); return n }
		switch key {
		case "required":
			r.required = true
		case "min":
			r.min = number()
		case "max":
			r.max = number()
		case "maxLen":
			r.maxLen = int(number())
		case "minItems":
			r.minItems = int(number())
		case "maxItems":
			r.maxItems = int(number())
		case "enum":
			r.enum = strings.Split(val, "|")
		case "pattern":
			r.pattern = val
		case "keys":
			r.keys = val
		}
	}
	return r
}

// field of a message, by its JSON name.
type field struct {
	name string
	typ  reflect.Type
	rule rule
}

// fieldsOf lists the fields of every message type. It is computed once: a report server decodes thousands of
// reports a second.
var fieldsOf = collectFields(
	reflect.TypeFor[Status](), reflect.TypeFor[Command](), reflect.TypeFor[Settings](),
	reflect.TypeFor[Manifest](),
	reflect.TypeFor[Report](), reflect.TypeFor[Answer](), reflect.TypeFor[Termination](),
	beatType, reflect.TypeFor[BeatAnswer](), reflect.TypeFor[Trace]())

func collectFields(types ...reflect.Type) map[reflect.Type][]field {
	out := map[reflect.Type][]field{}
	var add func(reflect.Type)
	add = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || t == timeType || out[t] != nil {
			return
		}
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			out[t] = append(out[t], field{name, f.Type, parseRule(f.Tag.Get("rule"))})
		}
		for f := range t.Fields() {
			add(f.Type)
		}
	}
	for _, t := range types {
		add(t)
	}
	return out
}

var (
	timeType   = reflect.TypeFor[time.Time]()
	metricType = reflect.TypeFor[Metric]()
	beatType   = reflect.TypeFor[Beat]()
)

// checkText applies the rule to a string. The problem is empty if the rule holds.
func (r rule) checkText(s string) (problem, remedy string) {
	switch {
	case len(r.enum) > 0:
		if slices.Contains(r.enum, s) {
			return "", ""
		}
		return fmt.Sprintf("is %.40q", s), "use one of " + strings.Join(r.enum, ", ")
	case r.maxLen > 0 && utf8.RuneCountInString(s) > r.maxLen: // in characters, as JSON schema counts
		return fmt.Sprintf("has %d characters", utf8.RuneCountInString(s)),
			fmt.Sprintf("at most %d are allowed", r.maxLen)
	case r.pattern != "" && !patterns[r.pattern].MatchString(s), r.pattern == "file" && !isFile(s):
		return fmt.Sprintf("is %.60q", s), remedies[r.pattern]
	}
	return "", ""
}

func (r rule) checkNumber(n float64, whole bool) (problem, remedy string) {
	if n >= r.min && n <= r.max { // NaN fails both
		return "", ""
	}
	kind := "a number"
	if whole {
		kind = "a whole number"
	}
	plain := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	return "is " + strconv.FormatFloat(n, 'g', -1, 64),
		fmt.Sprintf("give %s from %s to %s", kind, plain(r.min), plain(r.max))
}

// isFile reports whether a name is a relative path that stays below its directory.
func isFile(name string) bool { return fs.ValidPath(name) && name != "." }

// Bounds of the times in messages. A clock further off is broken, and JSON cannot carry dates beyond the year
// 9999.
var (
	earliestTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	latestTime   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)
