package workload

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// file is a workload of one's own, as YAML; testdata/example.yaml explains every key.
type file struct {
	Name        string        `json:"name"`
	Question    string        `json:"question"`
	Nodes       int           `json:"nodes"`
	GPUsPerNode int           `json:"gpusPerNode"`
	End         End           `json:"end"`
	Cut         scalar        `json:"cut"`
	Idle        scalar        `json:"idle"`
	Gangs       []fileGroup   `json:"gangs"`
	Failures    []fileFailure `json:"failures"`
	Trace       *fileTrace    `json:"trace"`
	Builtin     *fileBuiltin  `json:"builtin"`
}

// fileTrace plays a trace instead of gangs; see TraceOptions.
type fileTrace struct {
	File       string     `json:"file"`
	Compress   float64    `json:"compress"`
	Window     fileWindow `json:"window"`
	MaxGangs   int        `json:"maxGangs"`
	Seed       uint64     `json:"seed"`
	Longest    scalar     `json:"longest"`
	Checkpoint scalar     `json:"checkpoint"`
}

type fileWindow struct {
	First int `json:"first"`
	Rows  int `json:"rows"`
}

// fileBuiltin plays a builtin instead of gangs. Scale defaults to 1.
type fileBuiltin struct {
	Name  string   `json:"name"`
	Scale *float64 `json:"scale"`
}

// fileFailure is a NodeFailure.
type fileFailure struct {
	At   scalar `json:"at"`
	Node int    `json:"node"`
	For  scalar `json:"for"`
}

// maxFile in bytes: a larger one is no workload that was written by hand.
const maxFile = 1 << 20

// Opener opens the trace that a file names, by the path that the file gives: which folder that is relative
// to, and what may be read, is for the caller to say.
type Opener func(path string) (io.ReadCloser, error)

// Parse makes a workload of a YAML file. name is the file's, for errors. open is called at most once, and may
// be nil where no trace can be read.
//
// Unknown and repeated keys, keys of another case, a second document and more than 1 MiB are errors. Errors
// name the file and the field, such as "my.yaml: gangs[0].ranks", and say what to do.
func Parse(data []byte, name string, open Opener) (Workload, error) {
	f, err := decode(data)
	if err != nil {
		return Workload{}, fmt.Errorf("reading %s: %w", name, err)
	}
	var w Workload
	var errs field.ErrorList
	switch n := f.sources(); {
	case n != 1:
		return Workload{}, fmt.Errorf("%s: give exactly one of gangs, trace and builtin: there are %d", name, n)
	case f.Builtin != nil:
		w, errs = f.fromBuiltin()
	case f.Trace != nil:
		w, errs, err = f.fromTrace(open)
	default:
		w, errs = f.fromGroups()
	}
	if err := errors.Join(err, errs[:min(len(errs), maxErrors)].ToAggregate()); err != nil {
		return Workload{}, fmt.Errorf("%s: %w", name, err)
	}
	if err := Validate(w); err != nil {
		return Workload{}, fmt.Errorf("%s: %w", name, err)
	}
	return w, nil
}

// secondDocument begins with three dashes, or the first ends with three dots, below a line that says
// something. The YAML library ignores what follows.
var secondDocument = regexp.MustCompile(`(?m)^[^#\s%-].*\n(?:.*\n)*?(?:---|\.\.\.)(?:\s|$)`)

func decode(data []byte) (file, error) {
	var f file
	if len(data) > maxFile {
		return f, fmt.Errorf("it has more than %d bytes: a long list of gangs is a trace, as CSV", maxFile)
	}
	if secondDocument.Match(data) {
		return f, errors.New("it has a second document: one file is one workload")
	}
	text, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return f, err
	}
	unknown, err := kjson.UnmarshalStrict(text, &f)
	if err != nil {
		return f, err
	}
	return f, errors.Join(unknown[:min(len(unknown), maxErrors)]...)
}

// sources of gangs that a file names.
func (f file) sources() int {
	n := 0
	for _, is := range []bool{f.Gangs != nil, f.Trace != nil, f.Builtin != nil} {
		if is {
			n++
		}
	}
	return n
}

// fromBuiltin is a builtin under another name or with another bound, where the file says so.
func (f file) fromBuiltin() (Workload, field.ErrorList) {
	path := field.NewPath("builtin")
	b, err := Lookup(f.Builtin.Name)
	if err != nil {
		return Workload{}, field.ErrorList{field.Invalid(path.Child("name"), f.Builtin.Name, err.Error())}
	}
	scale := ptr.Deref(f.Builtin.Scale, 1)
	w, err := b.Build(scale)
	if err != nil {
		return Workload{}, field.ErrorList{field.Invalid(path.Child("scale"), scale, err.Error())}
	}
	var errs field.ErrorList
	for key, is := range map[string]bool{
		"nodes": f.Nodes != 0, "gpusPerNode": f.GPUsPerNode != 0, "failures": f.Failures != nil, "end": f.End != "",
	} {
		if is {
			errs = append(errs, field.Forbidden(field.NewPath(key), "a builtin has its own: remove the key"))
		}
	}
	slices.SortFunc(errs, func(a, b *field.Error) int { return cmp.Compare(a.Field, b.Field) })
	errs = append(errs, f.frame(&w)...)
	return w, errs
}

// fromTrace is a trace on the file's cluster. err is what is wrong with the trace.
func (f file) fromTrace(open Opener) (w Workload, errs field.ErrorList, err error) {
	path := field.NewPath("trace")
	o := TraceOptions{
		Nodes: f.Nodes, GPUsPerNode: f.GPUsPerNode, Compress: f.Trace.Compress, First: f.Trace.Window.First,
		Rows: f.Trace.Window.Rows, MaxGangs: f.Trace.MaxGangs, Seed: f.Trace.Seed,
	}
	errs = slices.Concat(
		f.Trace.Longest.duration(path.Child("longest"), &o.Longest),
		f.Trace.Checkpoint.duration(path.Child("checkpoint"), &o.Checkpoint),
		validateCount(field.NewPath("nodes"), f.Nodes, MaxNodes),
		validateCount(field.NewPath("gpusPerNode"), f.GPUsPerNode, MaxGPUsPerNode),
	)
	switch {
	case f.Trace.File == "":
		errs = append(errs, field.Required(path.Child("file"), "name a CSV file"))
	case open == nil:
		errs = append(errs, field.Forbidden(path.Child("file"), "no files can be opened here: write gangs"))
	case f.End == EndPlaced:
		errs = append(errs, field.Invalid(field.NewPath("end"), f.End, "jobs of a trace finish: leave it out"))
	}
	if len(errs) > 0 {
		return w, errs, nil
	}
	from, err := open(f.Trace.File)
	if err != nil {
		return w, nil, fmt.Errorf("opening the trace: %w", err)
	}
	defer from.Close()
	if w, err = ReadTrace(from, f.Trace.File, o); err != nil {
		return w, nil, err
	}
	errs = slices.Concat(f.failures(&w), f.frame(&w))
	return w, errs, nil
}

// frame sets the name, question, idle time and cut of a workload from the file. Added idle time raises a
// default cut.
func (f file) frame(w *Workload) field.ErrorList {
	w.Name, w.Question = cmp.Or(f.Name, w.Name), cmp.Or(f.Question, w.Question)
	idle := f.Idle.duration(field.NewPath("idle"), &w.Idle)
	w.Cut = w.bound()
	return append(idle, f.Cut.duration(field.NewPath("cut"), &w.Cut)...)
}

// failures of nodes, in the order of their time.
func (f file) failures(w *Workload) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("failures")
	for i, from := range f.Failures {
		to := NodeFailure{Node: from.Node}
		errs = append(errs, from.At.duration(path.Index(i).Child("at"), &to.At)...)
		errs = append(errs, from.For.duration(path.Index(i).Child("for"), &to.For)...)
		w.Failures = append(w.Failures, to)
	}
	slices.SortStableFunc(w.Failures, func(a, b NodeFailure) int { return cmp.Compare(a.At, b.At) })
	return errs
}
