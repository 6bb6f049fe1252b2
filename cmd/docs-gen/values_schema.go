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
	"mlplatform.example.com/trainingjob-operator/pkg/schedulers"
	serverconfig "mlplatform.example.com/trainingjob-operator/pkg/server/config"
)

//go:embed values.schema.yaml
var valuesSchema string

// schemaParts is values.schema.yaml: what the types of pkg/config do not say. $schedulers in it stands for
// the names in pkg/schedulers.
type schemaParts struct {
	// Schema of the chart's values without their block config.
	Schema map[string]any `json:"schema"`
	// Keys of the configuration, by path, with what their values must be beside their type; ServerKeys
	// those of the server's.
	Keys       map[string]map[string]any `json:"keys"`
	ServerKeys map[string]map[string]any `json:"serverKeys"`
	// Rules between keys of the configuration.
	Rules []any `json:"rules"`
}

// writeValuesSchema writes the JSON Schema of the Helm chart's values. The block config has the keys, types
// and descriptions of pkg/config, server.config those of pkg/server/config.
func writeValuesSchema(out io.Writer, docs *comments) error {
	var parts schemaParts
	content := strings.ReplaceAll(valuesSchema, "$schedulers", strings.Join(schedulers.Names(), ", "))
	if err := yaml.UnmarshalStrict([]byte(content), &parts); err != nil {
		return fmt.Errorf("reading values.schema.yaml: %w", err)
	}
	properties, ok := parts.Schema["properties"].(map[string]any)
	if !ok {
		return fmt.Errorf("values.schema.yaml: schema has no properties")
	}
	block, err := blockSchema[config.OperatorConfiguration](docs, parts.Keys)
	if err != nil {
		return err
	}
	block["allOf"], properties["config"] = parts.Rules, block
	server, ok := properties["server"].(map[string]any)["properties"].(map[string]any)
	if !ok {
		return fmt.Errorf("values.schema.yaml: server has no properties")
	}
	if server["config"], err = blockSchema[serverconfig.ServerConfiguration](docs, parts.ServerKeys); err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(parts.Schema)
}

// blockSchema describes a configuration. It uses all of keys.
func blockSchema[T any](docs *comments, keys map[string]map[string]any) (map[string]any, error) {
	block, err := objectSchema(reflect.TypeFor[T](), "", docs, keys)
	if err == nil && len(keys) > 0 {
		err = fmt.Errorf("values.schema.yaml has keys that %s has not: %s", reflect.TypeFor[T](),
			strings.Join(slices.Sorted(maps.Keys(keys)), ", "))
	}
	return block, err
}

// objectSchema describes a struct. It takes what it uses out of keys.
func objectSchema(
	t reflect.Type, prefix string, docs *comments, keys map[string]map[string]any,
) (map[string]any, error) {
	properties := map[string]any{}
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Anonymous { // its keys are the outer object's
			inner, err := objectSchema(field.Type, prefix, docs, keys)
			if err != nil {
				return nil, err
			}
			maps.Copy(properties, inner["properties"].(map[string]any))
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		path := prefix + name
		if name == "" {
			return nil, fmt.Errorf("%s.%s has no json name", t.Name(), field.Name)
		}
		comment, err := docs.of(t, field.Name)
		if err != nil {
			return nil, err
		}
		schema, err := schemaOf(field.Type, path, docs, keys)
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

// schemaOf a field's value: an object, a list or a map of such, or a plain value.
func schemaOf(
	t reflect.Type, path string, docs *comments, keys map[string]map[string]any,
) (map[string]any, error) {
	held, below := objectsIn(reflect.Zero(t))
	if !held.IsValid() {
		return valueSchema(t)
	}
	inner, err := objectSchema(held.Type(), path+below+".", docs, keys)
	switch below {
	case "[]":
		return map[string]any{"type": "array", "items": inner}, err
	case ".*":
		return map[string]any{"type": "object", "additionalProperties": inner}, err
	}
	return inner, err
}

func valueSchema(t reflect.Type) (map[string]any, error) {
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}, nil
	case reflect.Bool:
		return map[string]any{"type": "boolean"}, nil
	case reflect.Int, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}, nil
	case reflect.Float64:
		return map[string]any{"type": "number"}, nil
	case reflect.Pointer:
		return valueSchema(t.Elem())
	case reflect.Struct: // a duration
		return map[string]any{"type": "string"}, nil
	case reflect.Map:
		return map[string]any{"type": "object"}, nil
	case reflect.Slice: // values.schema.yaml says of what
		return map[string]any{"type": "array"}, nil
	}
	return nil, fmt.Errorf("the type %s has no schema", t)
}
