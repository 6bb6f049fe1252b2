// Package boundedyaml reads YAML from outside. Aliases let a document of a few kilobytes stand for gigabytes,
// and the usual libraries write each alias out. This package computes what the aliases of an input expand to
// before anything expands them.
package boundedyaml

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	goyaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// MaxExpansion is how many bytes the aliases of one input may add.
const MaxExpansion = 4 << 20

// nodeBytes is what a decoded node takes beside its text, in bytes.
const nodeBytes = 32

// maxDepth of a document, in nodes below each other. The libraries have the same bound.
const maxDepth = 10_000

// Input counts what the aliases in the documents of one input have added so far. The zero Input is ready.
type Input struct{ added int64 }

// ToJSON converts one document of the input to JSON. A key that stands twice in a mapping is an error.
func (in *Input) ToJSON(document []byte) ([]byte, error) {
	if err := in.check(document); err != nil {
		return nil, err
	}
	return yaml.YAMLToJSONStrict(document)
}

// Unmarshal decodes an input of one document.
func Unmarshal(document []byte, into any) error {
	if err := new(Input).check(document); err != nil {
		return err
	}
	return yaml.Unmarshal(document, into)
}

// check returns an error if the aliases of the input expand to more than MaxExpansion. Its cost grows with
// the document, and not with what that expands to.
func (in *Input) check(document []byte) error {
	if !bytes.ContainsRune(document, '*') {
		return nil // it has no alias
	}
	var root goyaml.Node
	if err := goyaml.Unmarshal(document, &root); err != nil {
		return err
	}
	w := walk{written: map[*goyaml.Node]int64{}}
	if _, err := w.expanded(&root, 0); err != nil {
		return err
	}
	if in.added = sum(in.added, w.added); in.added > MaxExpansion {
		return fmt.Errorf("the aliases expand to more than %d MiB: write the values out, or use fewer aliases",
			MaxExpansion>>20)
	}
	return nil
}

// walk visits each node of a document once.
type walk struct {
	// written is the size of each visited node with its aliases written out; -1 while the node is visited.
	written map[*goyaml.Node]int64
	// added is what the aliases add to the document.
	added int64
}

// expanded returns the size of a node with its aliases written out, in bytes.
func (w *walk) expanded(node *goyaml.Node, depth int) (int64, error) {
	if depth > maxDepth {
		return 0, fmt.Errorf("the document is nested deeper than %d levels", maxDepth)
	}
	if size, visited := w.written[node]; visited && size < 0 {
		return 0, errors.New("an alias refers to a value that contains it")
	} else if visited {
		return size, nil
	}
	w.written[node] = -1
	size := int64(nodeBytes + len(node.Value))
	if node.Kind == goyaml.AliasNode {
		target, err := w.expanded(node.Alias, depth+1)
		if err != nil {
			return 0, err
		}
		size, w.added = target, sum(w.added, target)
	}
	for _, child := range node.Content {
		more, err := w.expanded(child, depth+1)
		if err != nil {
			return 0, err
		}
		size = sum(size, more)
	}
	w.written[node] = size
	return size, nil
}

// sum of two sizes; the largest number where that is too small.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
