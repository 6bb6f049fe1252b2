package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/pkg/config"
)

//go:embed values.schema.yaml
var valuesSchema []byte

// schemaParts is values.schema.yaml: what the types of pkg/config do not say.
type schemaParts struct {
	// Schema of the chart's values without their block config.
	Schema map[string]any `json:"schema"`
	// Keys of the configuration, by path, with what their values must be beside their type.
	Keys map[string]map[string]any `json:"keys"`
	// Rules between keys of the configuration.
	Rules []any `json:"rules"`
}

// writeValuesSchema writes the JSON Schema of the Helm chart's values. The block config has the keys, types
// and descriptions of pkg/config; sources is its folder.
func writeValuesSchema(out io.Writer, sources string) error {
	comments, err := fieldComments(sources)
	if err != nil {
		return err
	}
	var parts schemaParts
	if err := yaml.UnmarshalStrict(valuesSchema, &parts); err != nil {
		return fmt.Errorf("reading values.schema.yaml: %w", err)
	}
	properties, ok := parts.Schema["properties"].(map[string]any)
	if !ok {
		return fmt.Errorf("values.schema.yaml: schema has no properties")
	}
	block, err := objectSchema(reflect.TypeFor[config.OperatorConfiguration](), "", comments, parts.Keys)
	if err != nil {
		return err
	}
	if len(parts.Keys) > 0 {
		return fmt.Errorf("values.schema.yaml has keys that pkg/config has not: %s",
			strings.Join(slices.Sorted(maps.Keys(parts.Keys)), ", "))
	}
	block["allOf"], properties["config"] = parts.Rules, block
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(parts.Schema)
}

// objectSchema describes a struct of pkg/config. It takes what it uses out of keys.
func objectSchema(
	t reflect.Type, prefix string, comments map[string]string, keys map[string]map[string]any,
) (map[string]any, error) {
	properties := map[string]any{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		path, comment := prefix+name, comments[t.Name()+"."+field.Name]
		if name == "" || comment == "" {
			return nil, fmt.Errorf("%s.%s has no json name or no doc comment", t.Name(), field.Name)
		}
		var schema map[string]any
		var err error
		if field.Type.Kind() == reflect.Struct {
			schema, err = objectSchema(field.Type, path+".", comments, keys)
		} else {
			schema, err = valueSchema(field.Type)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		schema["description"] = strings.Join(strings.Fields(comment), " ")
		maps.Copy(schema, keys[path])
		delete(keys, path)
		properties[name] = schema
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}, nil
}

func valueSchema(t reflect.Type) (map[string]any, error) {
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}, nil
	case reflect.Bool:
		return map[string]any{"type": "boolean"}, nil
	case reflect.Int:
		return map[string]any{"type": "integer"}, nil
	case reflect.Slice: // values.schema.yaml says of what
		return map[string]any{"type": "array"}, nil
	}
	return nil, fmt.Errorf("the type %s has no schema", t)
}
