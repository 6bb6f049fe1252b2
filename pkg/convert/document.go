package convert

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"

	"mlplatform.example.com/trainingjob-operator/pkg/boundedyaml"
)

const (
	// MaxBytes is the most that a file may have, in bytes.
	MaxBytes = 8 << 20
	// maxNodes of a file. Only the user who runs the command has to pay for them: about 500 MB of memory.
	maxNodes = 2_000_000
	// maxDocuments of a file.
	maxDocuments = 1000
)

// Document is one object of a file.
type Document struct {
	// Number of the document in its file, from 1, as a reader counts them: empty ones between two "---" do
	// not count.
	Number int
	// Item is the position in a List, from 1. 0: the document is no List.
	Item int
	// APIVersion, Kind and Name as they are written; empty where they are not.
	APIVersion, Kind, Name string

	raw  []byte // JSON without duplicate keys
	tree map[string]any
	// script for sbatch, instead of an object.
	script string
}

// String names the document as messages do.
func (d Document) String() string {
	name := fmt.Sprintf("document %d", d.Number)
	if d.Item > 0 {
		name += fmt.Sprintf(", item %d", d.Item)
	}
	if d.script != "" {
		return name + " (Slurm script)"
	}
	if what := strings.TrimSpace(d.Kind + " " + d.Name); what != "" {
		name += " (" + what + ")"
	}
	return Problem{Message: name}.String()
}

// suffix of a generated name: 5 characters that depend on the content of the document alone.
func (d Document) suffix() string {
	content := []byte(d.script)
	if d.script == "" {
		var err error
		content, err = json.Marshal(d.tree) // with sorted keys, as YAML and JSON differ in their order
		if err != nil {                     // a document has no value that JSON has not
			content = d.raw
		}
	}
	sum := sha256.Sum256(content)
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:5]
}

// Split reads the documents of a file: YAML with "---" between them, JSON objects one after another, or a
// JSON array. A List becomes its items, and a script for sbatch is one document. It fails, and names the
// document, for what is neither, for a key that stands twice in the same object, and for files beyond
// MaxBytes.
func Split(data []byte) ([]Document, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("the file has %d bytes, more than %d", len(data), MaxBytes)
	}
	if docs, is, err := splitScript(data); is || err != nil {
		return docs, err
	}
	var docs []Document
	number, input := 0, boundedyaml.Input{MaxNodes: maxNodes}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		part, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("document %d: %w", number+1, err)
		}
		values, err := parse(part, &input)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", number+1, err)
		}
		for _, value := range values {
			number++
			found, err := expand(value, number)
			if err != nil {
				return nil, fmt.Errorf("document %d: %w", number, err)
			}
			if docs = append(docs, found...); len(docs) > maxDocuments {
				return nil, fmt.Errorf("the file has more than %d documents", maxDocuments)
			}
		}
	}
	if len(docs) == 0 {
		return nil, errors.New("the file has no document")
	}
	return docs, nil
}

// sbatchLine is a line with options of sbatch.
var sbatchLine = regexp.MustCompile(`(?m)^#SBATCH(\s|$)`)

// splitScript returns the document of a file that is a script. It fails for a script that sbatch refuses.
func splitScript(data []byte) (docs []Document, is bool, err error) {
	begins, has := bytes.HasPrefix(data, []byte("#!")), sbatchLine.Match(data)
	switch {
	case begins && has:
		return []Document{{Number: 1, script: string(data)}}, true, nil
	case begins:
		return nil, false, errors.New("the file is a script without a line #SBATCH: add #SBATCH --nodes=1, or " +
			"write a TrainingJob")
	case has && !hasMapping.Match(data):
		return nil, false, errors.New("a Slurm script begins with its shell: write #!/bin/bash in the first line")
	}
	return nil, false, nil
}

// hasMapping matches YAML and JSON of objects.
var hasMapping = regexp.MustCompile(`(?m)^[{\[\s]*"?[A-Za-z]+"?\s*:(\s|$)`)

// parse returns the values of one part of a file as JSON; none where there are but comments.
func parse(part []byte, input *boundedyaml.Input) ([][]byte, error) {
	trimmed := bytes.TrimSpace(part)
	if bytes.HasPrefix(trimmed, []byte("{")) || bytes.HasPrefix(trimmed, []byte("[")) {
		values, jsonErr := parseJSON(trimmed)
		if jsonErr == nil {
			return values, nil
		}
		// YAML's flow style looks alike. In brackets, what follows the first value is an error.
		wrapped, err := input.ToJSON(slices.Concat([]byte("["), part, []byte("\n]")))
		var one []json.RawMessage
		if err != nil || json.Unmarshal(wrapped, &one) != nil || len(one) != 1 {
			return nil, jsonErr
		}
		return [][]byte{one[0]}, nil
	}
	var values [][]byte
	for _, document := range documentEnd.Split(string(part), -1) { // of which YAMLToJSON would read the first
		value, err := input.ToJSON([]byte(document))
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(value, []byte("null")) {
			values = append(values, value)
		}
	}
	return values, nil
}

// documentEnd is YAML's marker of the end of a document, which needs no "---" after it.
var documentEnd = regexp.MustCompile(`(?m)^\.\.\.[ \t\r]*$`)

// parseJSON reads one JSON value after another.
func parseJSON(data []byte) ([][]byte, error) {
	var values [][]byte
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var value json.RawMessage
		if err := decoder.Decode(&value); errors.Is(err, io.EOF) {
			return values, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading JSON at byte %d: %w", decoder.InputOffset(), err)
		}
		values = append(values, value)
	}
}

// expand makes documents of one value: itself, or its elements if it is an array or a List.
func expand(value []byte, number int) ([]Document, error) {
	var tree any
	duplicates, err := kjson.UnmarshalStrict(value, &tree)
	if err != nil {
		return nil, err
	}
	if len(duplicates) > 0 {
		return nil, duplicates[0]
	}
	items, isList := tree.([]any)
	if object, is := tree.(map[string]any); is {
		if items, isList = listItems(object); !isList {
			return []Document{newDocument(value, object, number, 0)}, nil
		}
	} else if !isList {
		return nil, errors.New("it is no object")
	}
	var docs []Document
	for i, item := range items {
		object, is := item.(map[string]any)
		if !is {
			return nil, fmt.Errorf("item %d is no object", i+1)
		}
		if _, nested := listItems(object); nested {
			return nil, fmt.Errorf("item %d is a List: move its items to the List that contains it", i+1)
		}
		raw, err := json.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
		docs = append(docs, newDocument(raw, object, number, i+1))
	}
	return docs, nil
}

// listItems returns the items of a List, and false for any other object.
func listItems(object map[string]any) ([]any, bool) {
	items, has := object["items"].([]any)
	kind, _ := object["kind"].(string)
	return items, has && (kind == "" || strings.HasSuffix(kind, "List"))
}

func newDocument(raw []byte, tree map[string]any, number, item int) Document {
	d := Document{Number: number, Item: item, raw: raw, tree: tree}
	d.APIVersion, _ = tree["apiVersion"].(string)
	d.Kind, _ = tree["kind"].(string)
	d.Name, _ = tree["name"].(string)
	if metadata, is := tree["metadata"].(map[string]any); is {
		if name, is := metadata["name"].(string); is {
			d.Name = name
		}
	}
	return d
}
