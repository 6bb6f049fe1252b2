package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// boundedYAMLIn are the folders that receive documents from outside. There only pkg/boundedyaml decodes YAML.
var boundedYAMLIn = []string{"cmd/server", "pkg/server", "pkg/convert"}

// yamlPackages decode YAML; a path stands for the packages below it, too.
var yamlPackages = []string{
	"sigs.k8s.io/yaml", "go.yaml.in/yaml", "gopkg.in/yaml.v2", "gopkg.in/yaml.v3", "github.com/goccy/go-yaml",
	"k8s.io/apimachinery/pkg/util/yaml", "k8s.io/apimachinery/pkg/runtime/serializer",
}

// yamlHarmless are the names of these packages that decode nothing: they write YAML, name nodes, or split a
// file into documents without parsing them.
var yamlHarmless = []string{"Marshal", "JSONToYAML", "Node", "MappingNode", "SequenceNode", "NewYAMLReader"}

// yamlDecoders decode YAML by the name of a method, in whatever package.
var yamlDecoders = []string{"UniversalDeserializer", "UniversalDecoder"}

// yamlOfOwnFiles may decode without a bound, with the reason.
var yamlOfOwnFiles = map[string]string{
	"pkg/server/config/load.go": "reads the server's own configuration, which the admin writes",
}

// TestYAMLFromOutsideIsBounded: no file decodes a request's YAML without the bounds of pkg/boundedyaml.
func TestYAMLFromOutsideIsBounded(t *testing.T) {
	used, files := map[string]bool{}, 0
	for _, root := range boundedYAMLIn {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, name := range yamlDecoding(file) {
				if used[path] = true; yamlOfOwnFiles[path] == "" {
					t.Errorf("%s uses %s: decode with pkg/boundedyaml", path, name)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for path := range yamlOfOwnFiles {
		if !used[path] {
			t.Errorf("%s decodes no YAML: remove it from yamlOfOwnFiles", path)
		}
	}
	if files < 100 {
		t.Errorf("only %d files were read", files)
	}
}

// yamlDecoding returns what a file uses that decodes YAML.
func yamlDecoding(file *ast.File) []string {
	var found []string
	imported := map[string]bool{}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
		if !slices.ContainsFunc(yamlPackages, func(p string) bool {
			return path == p || strings.HasPrefix(path, p+"/")
		}) {
			continue
		}
		name := packageName(path)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "." {
			found = append(found, "all of "+path)
		}
		imported[name] = true
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, is := n.(*ast.SelectorExpr)
		if !is {
			return true
		}
		of, _ := selector.X.(*ast.Ident)
		if slices.Contains(yamlDecoders, selector.Sel.Name) ||
			of != nil && imported[of.Name] && !slices.Contains(yamlHarmless, selector.Sel.Name) {
			found = append(found, selector.Sel.Name)
		}
		return true
	})
	return found
}

// packageName of an import: the last part of its path that is no version.
func packageName(path string) string {
	parts := strings.Split(path, "/")
	if last := parts[len(parts)-1]; last == "v2" || last == "v3" || last == "v4" {
		parts = parts[:len(parts)-1]
	}
	name, _, _ := strings.Cut(parts[len(parts)-1], ".")
	return strings.TrimPrefix(name, "go-")
}

// TestYAMLDecodingIsFound shows that TestYAMLFromOutsideIsBounded can fail.
func TestYAMLDecodingIsFound(t *testing.T) {
	const source = `package p
import (
	"sigs.k8s.io/yaml"
	goyaml "go.yaml.in/yaml/v3"
	"gopkg.in/yaml.v2"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/runtime/serializer/yaml"
	. "sigs.k8s.io/yaml/goyaml.v2"
)
var a = []any{
	yaml.YAMLToJSON, yaml.Unmarshal, goyaml.NewDecoder, utilyaml.NewYAMLOrJSONDecoder,
	yaml.NewDecodingSerializer,
	scheme.Codecs.UniversalDeserializer(), utilyaml.NewYAMLReader, goyaml.Node{}, json.Unmarshal, yaml.Marshal,
}`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"all of sigs.k8s.io/yaml/goyaml.v2", "YAMLToJSON", "Unmarshal", "NewDecoder", "NewYAMLOrJSONDecoder",
		"NewDecodingSerializer", "UniversalDeserializer",
	}
	if got := yamlDecoding(file); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
