package rest

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Schema implements huma.SchemaProvider: the fields of docs/api.md without their bounds, which the cluster
// checks. Types of other APIs have only a description: one pod template has 500 KB of schema.
func (Job) Schema(r huma.Registry) *huma.Schema {
	schemas := kubernetesSchemas{r.Map()}
	s := schemas.ref(reflect.TypeFor[v1alpha1.TrainingJob]())
	r.Map()[kind].Description = "A TrainingJob, as in docs/api.md."
	return s
}

// kubernetesSchemas returns schemas of Go types in Kubernetes' encoding. huma's own do not support embedded
// fields with a name.
type kubernetesSchemas struct{ known map[string]*huma.Schema }

var (
	ours        = reflect.TypeFor[v1alpha1.TrainingJob]().PkgPath()
	marshaler   = reflect.TypeFor[json.Marshaler]()
	unmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// ref returns a reference to the schema of one of our own types, which it adds to the known ones.
func (k kubernetesSchemas) ref(t reflect.Type) *huma.Schema {
	name := t.Name()
	if name != kind {
		name = kind + "." + name
	}
	if k.known[name] == nil {
		k.known[name] = &huma.Schema{} // first, for types that refer to themselves
		k.known[name] = k.object(t)
	}
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

func (k kubernetesSchemas) of(t reflect.Type) *huma.Schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Struct && t.PkgPath() == ours:
		return k.ref(t)
	case reflect.PointerTo(t).Implements(unmarshaler): // metav1.Time
		return &huma.Schema{Type: huma.TypeString, Format: "date-time"}
	case t.Name() == "Quantity":
		return &huma.Schema{Type: huma.TypeString, Description: "A quantity of Kubernetes, such as 4Gi or 500m."}
	case t.Name() == "IntOrString":
		return &huma.Schema{Description: "A number or a string."}
	case reflect.PointerTo(t).Implements(marshaler):
		return &huma.Schema{}
	}
	switch t.Kind() {
	case reflect.Struct:
		return &huma.Schema{
			Type: huma.TypeObject, AdditionalProperties: true,
			Description: "A " + t.Name() + " of Kubernetes (" + strings.TrimPrefix(t.PkgPath(), "k8s.io/") + ").",
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return &huma.Schema{Type: huma.TypeString, ContentEncoding: "base64"}
		}
		return &huma.Schema{Type: huma.TypeArray, Items: k.of(t.Elem())}
	case reflect.Map:
		return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: k.of(t.Elem())}
	case reflect.Bool:
		return &huma.Schema{Type: huma.TypeBoolean}
	case reflect.Int32:
		return &huma.Schema{Type: huma.TypeInteger, Format: "int32"}
	case reflect.Int, reflect.Int64:
		return &huma.Schema{Type: huma.TypeInteger, Format: "int64"}
	case reflect.Float64:
		return &huma.Schema{Type: huma.TypeNumber}
	case reflect.String:
		return &huma.Schema{Type: huma.TypeString}
	}
	return &huma.Schema{}
}

// object returns the fields of a struct, including those of embedded structs without a name.
func (k kubernetesSchemas) object(t reflect.Type) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{}, AdditionalProperties: false}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			inline := k.object(f.Type)
			maps.Copy(s.Properties, inline.Properties)
			s.Required = append(s.Required, inline.Required...)
		default:
			s.Properties[name] = k.of(f.Type)
			if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
				s.Required = append(s.Required, name)
			}
		}
	}
	return s
}

// schemaOf returns the schema of a type that huma does not find in a response.
func schemaOf[T any](r huma.Registry) *huma.Schema { return r.Schema(reflect.TypeFor[T](), true, "") }
