// Package boundedyaml reads untrusted YAML. Aliases let a document of a few kilobytes expand to gigabytes,
// and the usual libraries expand each alias. This package computes the expanded size of an input before it is
// expanded. It also limits the nodes of an input before it parses them, because a node of two bytes takes
// hundreds of bytes of memory.
package boundedyaml

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	goyaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// MaxExpansion is how many bytes the aliases of one input can add.
const MaxExpansion = 4 << 20

// nodeBytes is the size of a decoded node without its text, in bytes.
const nodeBytes = 32

// maxErrorBytes of an error.
const maxErrorBytes = 4 << 10

// maxDepth of nested nodes. The libraries have the same limit.
const maxDepth = 10_000

// Input counts the documents of one input. The zero Input is ready.
type Input struct {
	// MaxNodes of the input, by the estimate of Nodes. Default: the constant MaxNodes.
	MaxNodes int

	nodes int
	added int64 // by aliases, in bytes
}

// ToJSON converts one document of the input to JSON. Duplicate keys are errors.
func (in *Input) ToJSON(document []byte) ([]byte, error) {
	if err := in.check(document); err != nil {
		return nil, err
	}
	converted, err := yaml.YAMLToJSONStrict(document)
	return converted, shorten(err)
}

// shorten an error that lists thousands of mistakes.
func shorten(err error) error {
	if err == nil || len(err.Error()) <= maxErrorBytes {
		return err
	}
	return fmt.Errorf("%s…", strings.ToValidUTF8(err.Error()[:maxErrorBytes], ""))
}

// Parse returns the root of an input of one document, with positions. Aliases are not expanded.
func Parse(document []byte) (*goyaml.Node, error) {
	if err := new(Input).count(document); err != nil {
		return nil, err
	}
	root := &goyaml.Node{}
	if err := goyaml.Unmarshal(document, root); err != nil {
		return nil, err
	}
	return root, nil
}

// Unmarshal decodes an input of one document.
func Unmarshal(document []byte, into any) error {
	if err := new(Input).check(document); err != nil {
		return err
	}
	return yaml.Unmarshal(document, into)
}

// count returns an error if the input has more than MaxNodes.
func (in *Input) count(document []byte) error {
	most := cmp.Or(in.MaxNodes, MaxNodes)
	if in.nodes += Nodes(document); in.nodes > most {
		return errNodes(most)
	}
	return nil
}

// check returns an error if the input has too many nodes, or if its aliases expand to more than MaxExpansion.
// Its cost grows with the document, not with the expansion.
func (in *Input) check(document []byte) error {
	if err := in.count(document); err != nil {
		return err
	}
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
		return fmt.Errorf("the aliases expand to more than %d MiB: replace aliases by their values",
			MaxExpansion>>20)
	}
	return nil
}

// walk visits each node of a document once.
type walk struct {
	// written is the size of each visited node with expanded aliases; -1 while the node is visited.
	written map[*goyaml.Node]int64
	// added is what the aliases add to the document.
	added int64
}

// expanded returns the size of a node with expanded aliases, in bytes.
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

// sum of two sizes; the largest number on overflow.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
