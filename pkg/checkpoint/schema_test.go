package checkpoint

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
)

var update = flag.Bool("update", false, "rewrite schemas and generated parts of documents")

var messages = map[string]reflect.Type{
	"status": reflect.TypeFor[Status](), "command": reflect.TypeFor[Command](),
	"settings": reflect.TypeFor[Settings](),
	"manifest": reflect.TypeFor[Manifest](),
	"report":   reflect.TypeFor[Report](), "answer": reflect.TypeFor[Answer](),
	"termination": reflect.TypeFor[Termination](),
	"beat":        reflect.TypeFor[Beat](), "beat-answer": reflect.TypeFor[BeatAnswer](),
}

// schemaOf renders a message type, with the rules that decoding enforces, as JSON schema.
func schemaOf(t reflect.Type, r rule) map[string]any {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == timeType:
		return map[string]any{"type": "string", "format": "date-time"}
	case t == metricType:
		return map[string]any{"anyOf": []any{
			map[string]any{"type": "number"},
			map[string]any{"type": "string", "maxLength": maxMetricLen, "pattern": metricValue.String()},
		}}
	case t.Kind() == reflect.Struct:
		props, required := map[string]any{}, []string{}
		for _, f := range fieldsOf[t] {
			props[f.name] = schemaOf(f.typ, f.rule)
			if f.rule.required {
				required = append(required, f.name)
			}
		}
		s := map[string]any{"type": "object", "additionalProperties": false, "properties": props}
		if len(required) > 0 {
			s["required"] = required
		}
		return s
	case t.Kind() == reflect.Map:
		return map[string]any{
			"type": "object", "maxProperties": r.maxItems, "additionalProperties": false,
			"patternProperties": map[string]any{patterns[r.keys].String(): schemaOf(t.Elem(), rule{})},
		}
	case t.Kind() == reflect.Slice:
		s := map[string]any{"type": "array", "maxItems": r.maxItems, "items": schemaOf(t.Elem(), rule{})}
		if r.minItems > 0 {
			s["minItems"] = r.minItems
		}
		return s
	case t.Kind() == reflect.String && len(r.enum) > 0:
		return map[string]any{"type": "string", "enum": r.enum}
	case t.Kind() == reflect.String:
		s := map[string]any{"type": "string", "maxLength": r.maxLen}
		if r.pattern != "" {
			s["pattern"] = patterns[r.pattern].String()
		}
		return s
	case t.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case t.Kind() == reflect.Float64:
		return map[string]any{"type": "number", "minimum": r.min, "maximum": r.max}
	}
	return map[string]any{"type": "integer", "minimum": int64(r.min), "maximum": int64(r.max)}
}

func TestSchemasAreTheTypes(t *testing.T) {
	for name, typ := range messages {
		s := schemaOf(typ, rule{})
		s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		s["title"] = typ.Name()
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("schema", name+".json")
		if *update {
			if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(have), b.String()); diff != "" {
			t.Errorf("%s is not the type; run with -update (-file +type):\n%s", file, diff)
		}
	}
	if files, _ := filepath.Glob("schema/*.json"); len(files) != len(messages) {
		t.Errorf("schema/ holds %v", files)
	}
}

// Every number has a maximum, every string a length and every list a count.
func TestEveryFieldIsBounded(t *testing.T) {
	for typ, fields := range fieldsOf {
		for _, f := range fields {
			k, at := f.typ.Kind(), typ.Name()+"."+f.name
			if k == reflect.Pointer && f.typ.Elem().Kind() != reflect.Struct {
				k = f.typ.Elem().Kind()
			}
			switch k {
			case reflect.Int32, reflect.Int64, reflect.Float64:
				if f.rule.max <= 0 {
					t.Errorf("%s has no maximum", at)
				}
			case reflect.String:
				if f.rule.maxLen == 0 && len(f.rule.enum) == 0 {
					t.Errorf("%s has no length", at)
				}
				if f.rule.pattern != "" && (patterns[f.rule.pattern] == nil || remedies[f.rule.pattern] == "") {
					t.Errorf("%s has a pattern that is not there", at)
				}
			case reflect.Map, reflect.Slice:
				if f.rule.maxItems == 0 {
					t.Errorf("%s has no count", at)
				}
			case reflect.Pointer, reflect.Struct, reflect.Bool:
			default:
				t.Errorf("%s is a %s, which decoding does not know", at, k)
			}
		}
	}
}

// The schemas and the parsers agree on every document.
func TestSchemasAgreeWithDecoding(t *testing.T) {
	for name, tc := range documents() {
		if tc.beyondSchema {
			continue
		}
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("schema", tc.message+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var v1 apiextensionsv1.JSONSchemaProps
			var props apiextensions.JSONSchemaProps
			if err := json.Unmarshal(data, &v1); err != nil {
				t.Fatal(err)
			}
			v1.Schema = "" // the validator knows one draft
			convert := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps
			if err := convert(&v1, &props, nil); err != nil {
				t.Fatal(err)
			}
			validator, _, err := validation.NewSchemaValidator(&props)
			if err != nil {
				t.Fatal(err)
			}
			var doc any
			if err := json.Unmarshal([]byte(tc.json), &doc); err != nil {
				t.Fatal(err)
			}
			result := validator.Validate(doc)
			if result.IsValid() != (tc.wrong == "") {
				t.Errorf("the schema says valid=%v (%v); decoding: %q", result.IsValid(), result.Errors, tc.wrong)
			}
		})
	}
}
