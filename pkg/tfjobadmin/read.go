package tfjobadmin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// texts are the fields of a spec that are texts, each with its spellings. The first is the one that is
// written.
var texts = []struct {
	spellings []string
	into      func(*Request) **string
}{
	{[]string{"description"}, func(r *Request) **string { return &r.Description }},
	{[]string{"partition"}, func(r *Request) **string { return &r.Partition }},
	{[]string{"runtime"}, func(r *Request) **string { return &r.Runtime }},
	{[]string{"workdir", "workerdir"}, func(r *Request) **string { return &r.Workdir }},
	{[]string{"bootfile"}, func(r *Request) **string { return &r.Bootfile }},
	{[]string{"checkpointDir"}, func(r *Request) **string { return &r.CheckpointDir }},
	{[]string{"eventDir"}, func(r *Request) **string { return &r.EventDir }},
	{[]string{"modelDir"}, func(r *Request) **string { return &r.ModelDir }},
	{[]string{"logDir"}, func(r *Request) **string { return &r.LogDir }},
}

// Spellings of the fields that are no texts.
var (
	environmentNames = []string{"enviroment", "environment"}
	countNames       = []string{"count", "conut"}
	// flatNames describe one type of replicas beside the other fields, as the table of the create call does.
	flatNames = []string{"type", "count", "conut", "cpu", "memory", "gpu"}
)

// specNames are all spellings of all fields of a spec.
func specNames() []string {
	names := slices.Concat([]string{"args", "replicas"}, environmentNames, flatNames)
	for _, text := range texts {
		names = append(names, text.spellings...)
	}
	return names
}

// readOnly fields of metadata stand in answers alone. A client that sends back what it was answered must not
// fail for it.
var readOnly = []string{"creationTime", "lastUpdateTime", "deletionTime", "deletedBefore"}

// Read parses the JSON of one job: its fields in spec beside metadata, or all at the top. The Request is of
// use only without Problems.
func Read(data []byte) (*Request, Problems) {
	r := &reader{request: &Request{paths: map[string]*field.Path{}}}
	var tree any
	duplicates, err := kjson.UnmarshalStrict(data, &tree)
	if err != nil {
		r.problems.add(nil, fmt.Sprintf("is no JSON: %v", err), "send one JSON object")
		return nil, r.problems
	}
	for _, duplicate := range duplicates {
		r.problems.add(nil, duplicate.Error(), "give the field once")
	}
	root, is := r.object(nil, tree)
	if !is {
		return nil, r.problems
	}
	r.root(root)
	return r.request, r.problems
}

// reader collects what is wrong with a document while it is read.
type reader struct {
	request  *Request
	problems Problems
}

// object is a JSON object whose fields are taken out one by one.
type object struct {
	path   *field.Path
	fields map[string]any
}

func (o object) at(name string) *field.Path {
	if o.path == nil {
		return field.NewPath(name)
	}
	return o.path.Child(name)
}

// object returns a copy of a JSON object.
func (r *reader) object(path *field.Path, value any) (object, bool) {
	fields, is := value.(map[string]any)
	if !is {
		r.problems.add(path, "is "+kindOf(value), "give an object")
		return object{}, false
	}
	return object{path, maps.Clone(fields)}, true
}

// take removes the field that has one of the spellings, and returns its value and its path. A null is a
// Problem, since it could mean that the field is to be cleared or that it is not given.
func (r *reader) take(o object, spellings ...string) (value any, path *field.Path, has bool) {
	var given []string
	for _, name := range spellings {
		if v, in := o.fields[name]; in {
			value, given = v, append(given, name)
			delete(o.fields, name)
		}
	}
	if len(given) == 0 {
		return nil, nil, false
	}
	path = o.at(given[0])
	switch {
	case len(given) > 1:
		r.problems.add(path, "is given together with "+given[1]+", which means the same", "give one of them")
	case value == nil:
		r.problems.add(path, "is null", "leave the field out, or give an empty value to clear it")
	default:
		return value, path, true
	}
	return nil, nil, false
}

// rest notes the fields that were not read.
func (r *reader) rest(o object) {
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		r.request.Unknown = append(r.request.Unknown, o.at(name))
	}
}

func (r *reader) root(root object) {
	r.metadata(root)
	if _, has := root.fields["status"]; has {
		delete(root.fields, "status")
		r.request.ReadOnly = append(r.request.ReadOnly, root.at("status"))
	}
	spec := root
	if value, path, has := r.take(root, "spec"); has {
		for _, name := range specNames() {
			if _, beside := root.fields[name]; beside {
				r.problems.add(root.at(name), "is given together with spec",
					"give the job's fields in spec, or all at the top")
				return
			}
		}
		is := false
		if spec, is = r.object(path, value); !is {
			return
		}
		r.request.nested = true
		r.rest(root)
	}
	r.spec(spec)
	r.rest(spec)
}

// metadata reads who and which the job is. The name may stand at the top, too.
func (r *reader) metadata(root object) {
	r.request.Name = r.text("metadata.name", root, "name")
	value, path, has := r.take(root, "metadata")
	if !has {
		return
	}
	metadata, is := r.object(path, value)
	if !is {
		return
	}
	top := r.request.Name
	if name := r.text("metadata.name", metadata, "name"); name != nil {
		if top != nil && *top != *name {
			r.problems.add(metadata.at("name"), fmt.Sprintf("is %q, but the name at the top is %q", *name, *top),
				"give one of them")
		}
		r.request.Name = name
	}
	r.request.User = r.text("metadata.uid", metadata, "uid")
	r.request.ID = r.text("metadata.id", metadata, "id")
	for _, name := range readOnly {
		if _, has := metadata.fields[name]; has {
			delete(metadata.fields, name)
			r.request.ReadOnly = append(r.request.ReadOnly, metadata.at(name))
		}
	}
	r.rest(metadata)
}

func (r *reader) spec(o object) {
	for _, text := range texts {
		*text.into(r.request) = r.text("spec."+text.spellings[0], o, text.spellings...)
	}
	if value, path, has := r.take(o, "args"); has {
		r.request.paths["spec.args"] = path
		r.request.Args = r.words(value, path)
	}
	if value, path, has := r.take(o, environmentNames...); has {
		r.request.paths["spec.enviroment"] = path
		r.request.Environment = r.environment(value, path)
	}
	r.replicas(o)
}

// text takes a text and notes its path under the name that Document has for it.
func (r *reader) text(canonical string, o object, spellings ...string) *string {
	value, path, has := r.take(o, spellings...)
	if !has {
		return nil
	}
	r.request.paths[canonical] = path
	text, is := value.(string)
	if !is {
		r.problems.add(path, "is "+kindOf(value), "give a text")
		return nil
	}
	if strings.ContainsRune(text, 0) {
		r.problems.add(path, "has a NUL character", "give a text without it")
		return nil
	}
	return &text
}

// kindOf names what JSON calls a value.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case bool:
		return "a boolean"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}
