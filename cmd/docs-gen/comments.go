package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

const module = "mlplatform.example.com/trainingjob-operator/"

// comments are the doc comments of the struct fields of packages of this module, which are read as they are
// asked for: a configuration has blocks of other packages than its own.
type comments struct {
	// root is the module's folder.
	root string
	// packages by their path, and in each the comments by "Type.Field".
	packages map[string]map[string]string
}

func newComments(root string) *comments {
	return &comments{root: root, packages: map[string]map[string]string{}}
}

// of a field of a type.
func (c *comments) of(t reflect.Type, field string) (string, error) {
	path := t.PkgPath()
	if _, read := c.packages[path]; !read {
		dir, ours := strings.CutPrefix(path, module)
		if !ours {
			return "", fmt.Errorf("%s is no type of this module: say in typeName what it is called", t)
		}
		found, err := fieldComments(filepath.Join(c.root, dir))
		if err != nil {
			return "", err
		}
		c.packages[path] = found
	}
	comment := c.packages[path][t.Name()+"."+field]
	if comment == "" {
		return "", fmt.Errorf("%s.%s has no doc comment", t.Name(), field)
	}
	return comment, nil
}

// fieldComments reads the doc comments of the struct fields of a package, by "Type.Field".
func fieldComments(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the sources: %w", err)
	}
	found := map[string]string{}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".go" || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("reading the sources: %w", err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				addFields(found, spec)
			}
			return true
		})
	}
	return found, nil
}

func addFields(found map[string]string, spec *ast.TypeSpec) {
	structType, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range structType.Fields.List {
		for _, name := range field.Names {
			found[spec.Name.Name+"."+name.Name] = strings.TrimSpace(field.Doc.Text())
		}
	}
}
