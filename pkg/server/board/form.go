package board

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kballard/go-shellquote"
	goyaml "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/boundedyaml"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// Names of the form's fields.
const (
	fieldNamespace = "namespace"
	fieldName      = "name"
	fieldFramework = "framework"
	fieldImage     = "image"
	fieldCommand   = "command"
	fieldWorkers   = "workers"
	fieldGPUs      = "gpus"
	fieldCPU       = "cpu"
	fieldMemory    = "memory"
	fieldQueue     = "queue"
	fieldPriority  = "priority"
	fieldManifest  = "manifest"
)

// input of the form for new jobs.
type input struct {
	Key, Label, Hint, Value string
	// Paths of the API's fields that it sets.
	Paths []string
	// Choices of a select, if any.
	Choices []string
	Number  bool
	// Suggestions is the id of a list of values.
	Suggestions string
	Errors      []problem.Error
}

// inputs of the form, in order. gpu is the resource of GPUs; without one the form has no field for them.
func inputs(frameworks []string, gpu string) []input {
	policy := "spec.runPolicy.schedulingPolicy."
	all := []input{
		{Key: fieldName, Label: "Name", Paths: []string{"metadata.name", "path.name"}},
		{Key: fieldFramework, Label: "Framework", Paths: []string{"spec.framework"}, Choices: frameworks},
		{Key: fieldImage, Label: "Image", Paths: []string{"spec.image"}},
		{Key: fieldCommand, Label: "Command", Paths: []string{"spec.command", "spec.args"},
			Hint: "words with shell quoting; no shell runs it: python train.py --name 'a b'"},
		{Key: fieldWorkers, Label: "Workers", Paths: []string{"spec.replicas"}, Number: true,
			Hint: "ranks; they all start together or none starts"},
		{Key: fieldGPUs, Label: "GPUs per worker", Paths: []string{gpuPath(gpu)},
			Number: true, Hint: gpu},
		{Key: fieldCPU, Label: "CPU per worker", Paths: []string{"spec.resources.requests.cpu"},
			Hint: "for example 4 or 500m"},
		{Key: fieldMemory, Label: "Memory per worker", Paths: []string{"spec.resources.requests.memory"},
			Hint: "for example 16Gi"},
		{Key: fieldQueue, Label: "Queue", Paths: []string{policy + "queue"}, Suggestions: "queues"},
		{Key: fieldPriority, Label: "Priority class", Paths: []string{policy + "priorityClass"}},
	}
	return slices.DeleteFunc(all, func(i input) bool { return i.Key == fieldGPUs && gpu == "" })
}

// fromForm returns the manifest of a form. Its errors concern only malformed numbers and commands; the API
// validates the rest.
func fromForm(values url.Values, gpu string) ([]byte, []problem.Error) {
	f := typed{values: values}
	metadata, policy, spec := tree{}, tree{}, tree{}
	metadata.put("namespace", f.text(fieldNamespace))
	metadata.put("name", f.text(fieldName))
	policy.put("queue", f.text(fieldQueue))
	policy.put("priorityClass", f.text(fieldPriority))
	spec.put("framework", f.text(fieldFramework))
	spec.put("image", f.text(fieldImage))
	if words := f.command(); len(words) > 0 {
		spec["command"] = words
	}
	if f.text(fieldWorkers) != "" {
		spec["replicas"] = f.workers()
	}
	spec.hang("runPolicy", tree{}.hang("schedulingPolicy", policy))
	spec.hang("resources", f.resources(gpu))
	manifest, err := yaml.Marshal(tree{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "TrainingJob", "metadata": metadata, "spec": spec,
	})
	if err != nil { // strings and numbers can be encoded
		f.wrong("", err.Error(), "tell an admin")
	}
	return manifest, f.errors
}

// typed is the content of the form, with its errors.
type typed struct {
	values url.Values
	errors []problem.Error
}

func (f *typed) text(key string) string { return strings.TrimSpace(f.values.Get(key)) }

func (f *typed) wrong(path, detail, remedy string) {
	f.errors = append(f.errors, problem.Error{Field: path, Detail: detail, Remedy: remedy})
}

func (f *typed) command() []string {
	words, err := shellquote.Split(f.text(fieldCommand))
	if err != nil {
		f.wrong("spec.command", err.Error(), "close every quote")
	}
	return words
}

func (f *typed) workers() int64 {
	n, err := strconv.ParseInt(f.text(fieldWorkers), 10, 32)
	if err != nil {
		f.wrong("spec.replicas", fmt.Sprintf("%q is not an integer", f.text(fieldWorkers)),
			"give one from 1 to 10000")
	}
	return n
}

// resources of each worker. gpu is the resource of GPUs; empty for none.
func (f *typed) resources(gpu string) tree {
	requests, limits := tree{}, tree{}
	if gpu != "" {
		limits.put(gpu, f.quantity(fieldGPUs, gpuPath(gpu)))
	}
	requests.put("cpu", f.quantity(fieldCPU, "spec.resources.requests.cpu"))
	requests.put("memory", f.quantity(fieldMemory, "spec.resources.requests.memory"))
	return tree{}.hang("requests", requests).hang("limits", limits)
}

func (f *typed) quantity(key, path string) string {
	text := f.text(key)
	if _, err := resource.ParseQuantity(text); text != "" && err != nil {
		f.wrong(path, fmt.Sprintf("%q is not a quantity", text), "give a number, with a unit such as m or Gi")
	}
	return text
}

// gpuPath is the API's field of the form's GPUs.
func gpuPath(gpu string) string { return "spec.resources.limits[" + gpu + "]" }

// tree of a manifest, without empty values.
type tree map[string]any

func (t tree) put(key, value string) {
	if value != "" {
		t[key] = value
	}
}

func (t tree) hang(key string, below tree) tree {
	if len(below) > 0 {
		t[key] = below
	}
	return t
}

// errorsOf a problem, at least one.
func errorsOf(p *problem.Problem) []problem.Error {
	if len(p.Errors) > 0 {
		return p.Errors
	}
	return []problem.Error{{Field: p.Field, Detail: cmp.Or(p.Detail, p.Title), Remedy: p.Remedy}}
}

// assignErrors adds errors to the inputs whose fields they name; the longest path wins. It returns the rest.
func assignErrors(all []input, errs []problem.Error) (others []problem.Error) {
	for _, e := range errs {
		at, longest := -1, 0
		for i, in := range all {
			for _, path := range in.Paths {
				if n := sameField(path, e.Field); n > longest {
					at, longest = i, n
				}
			}
		}
		if at < 0 {
			others = append(others, e)
			continue
		}
		all[at].Errors = append(all[at].Errors, e)
	}
	return others
}

// sameField returns the length of path if field equals it or is below it, else 0.
func sameField(path, field string) int {
	rest, below := strings.CutPrefix(field, path)
	if below && (rest == "" || rest[0] == '.' || rest[0] == '[') {
		return len(path)
	}
	return 0
}

// lineOf returns the line of a field in a YAML document, from 1: that of the deepest part of the field that
// the document has. It returns 0 if it has none, or if the document is nil.
func lineOf(document *goyaml.Node, field string) int {
	if document == nil || len(document.Content) == 0 {
		return 0
	}
	line, node := 0, document.Content[0]
	for _, part := range partsOf(field) {
		var next *goyaml.Node
		switch node.Kind {
		case goyaml.MappingNode:
			for i := 0; i+1 < len(node.Content); i += 2 {
				if node.Content[i].Value == part {
					line, next = node.Content[i].Line, node.Content[i+1]
				}
			}
		case goyaml.SequenceNode:
			if n, err := strconv.Atoi(part); err == nil && n >= 0 && n < len(node.Content) {
				next = node.Content[n]
				line = next.Line
			}
		}
		if next == nil {
			return line
		}
		node = next
	}
	return line
}

// partsOf returns the parts of a field: spec.resources.limits[nvidia.com/gpu] has four.
func partsOf(field string) []string {
	var parts []string
	for field != "" {
		if inner, is := strings.CutPrefix(field, "["); is {
			part, rest, _ := strings.Cut(inner, "]")
			parts, field = append(parts, part), strings.TrimPrefix(rest, ".")
			continue
		}
		end := strings.IndexAny(field, ".[")
		if end < 0 {
			return append(parts, field)
		}
		parts = append(parts, field[:end])
		field = strings.TrimPrefix(field[end:], ".")
	}
	return parts
}

// namespaceOf returns the namespace of a manifest. It is empty if the manifest has none or cannot be decoded.
func (b *Board) namespaceOf(ctx context.Context, manifest []byte) (string, error) {
	leave, err := b.BeginDecoding(ctx, boundedyaml.Weight(manifest))
	if err != nil {
		return "", err
	}
	defer leave()
	var of struct {
		Metadata struct {
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if boundedyaml.Unmarshal(manifest, &of) != nil {
		return "", nil // creating the job reports it
	}
	return of.Metadata.Namespace, nil
}

// warningTexts returns the texts of Warning headers (RFC 7234).
func warningTexts(headers []string) []string {
	parsed, _ := utilnet.ParseWarningHeaders(headers) // the API wrote them
	var all []string
	for _, w := range parsed {
		all = append(all, w.Text)
	}
	return all
}
