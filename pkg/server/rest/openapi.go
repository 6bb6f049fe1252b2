package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// Media types of bodies.
const (
	typeJSON       = "application/json"
	typeYAML       = "application/yaml"
	typeMergePatch = "application/merge-patch+json"
	typeJSONPatch  = "application/json-patch+json"
	typeText       = "text/plain"
	typeCSV        = "text/csv"
)

// maxBody is the largest body: etcd's default limit.
const maxBody = 3 << 19

// Tags of operations.
var (
	tagJobs    = []string{"TrainingJobs"}
	tagHistory = []string{"History"}
)

const about = `TrainingJobs of the configured clusters: current jobs, changes and history.
Every call is made with the caller's own rights in the cluster. Errors are problems of RFC 9457 with the field
that is wrong and a remedy. docs/server.md has the details.`

// configuration of huma: only JSON, our problems, and none of its own paths.
func configuration(version string) huma.Config {
	registry := huma.NewMapRegistry("#/components/schemas/", schemaName)
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info:    &huma.Info{Title: "TrainingJob server", Version: version, Description: about},
			Components: &huma.Components{
				Schemas: registry,
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer": {
						Type: "http", Scheme: "bearer",
						Description: "A token of an OpenID issuer or of a cluster (docs/server.md).",
					},
				},
			},
			Security: []map[string][]string{{"bearer": {}}},
			Tags: []*huma.Tag{
				{Name: "Clusters", Description: "The configured clusters."},
				{Name: "TrainingJobs", Description: "Jobs that exist."},
				{Name: "Queues", Description: "Queues and quotas, with their use and jobs."},
				{Name: "History", Description: "Past and current jobs, and their usage."},
			},
		},
		Formats: map[string]huma.Format{
			typeJSON: huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat, // the second for problem+json
		},
		DefaultFormat:                typeJSON,
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{problem.Transform},
	}
}

// schemaName of a type. Several packages have a Job, say.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	switch of := path.Base(t.PkgPath()); of {
	case "history", "timeline", "explain":
		return withPrefix(strings.ToUpper(of[:1])+of[1:], name)
	case "queues":
		return withPrefix("Queue", name)
	}
	return name
}

// withPrefix is a name that begins with the prefix.
func withPrefix(prefix, name string) string {
	if strings.HasPrefix(name, prefix) {
		return name
	}
	return prefix + name
}

// document says of an operation that its errors are Problems. Bodies are read by us, who name what is wrong.
func document(op *huma.Operation, registry huma.Registry) {
	op.SkipValidateBody = true
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	op.Responses["default"] = &huma.Response{
		Description: "Why the request failed",
		Content: map[string]*huma.MediaType{
			problem.MediaType: {Schema: registry.Schema(reflect.TypeFor[problem.Problem](), true, "")},
		},
	}
}

// bodies documents a request body in several media types. A schema of a name is that of the components.
func bodies(schema string, mediaTypes ...string) *huma.RequestBody {
	content := map[string]*huma.MediaType{}
	for _, mediaType := range mediaTypes {
		s := &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
		switch {
		case schema != "":
			s = &huma.Schema{Ref: "#/components/schemas/" + schema}
		case mediaType == typeJSONPatch:
			s = &huma.Schema{
				Type:  huma.TypeArray,
				Items: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true},
			}
		}
		content[mediaType] = &huma.MediaType{Schema: s}
	}
	return &huma.RequestBody{Required: true, Content: content}
}

func notModified() map[string]*huma.Response {
	return map[string]*huma.Response{"304": {Description: "The client has this version of the job"}}
}

// text documents an answer that is text, of a media type.
func text(mediaType, description string) map[string]*huma.Response {
	return map[string]*huma.Response{"200": {
		Description: description,
		Content:     map[string]*huma.MediaType{mediaType: {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
}

// finish encodes the document: indented, since it is read and compared.
func finish(api huma.API) ([]byte, error) {
	registry := api.OpenAPI().Components.Schemas
	for _, unused := range []string{"ErrorModel", "ErrorDetail"} { // huma's, which problem.Transform replaces
		delete(registry.Map(), unused)
	}
	for _, item := range api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Patch, item.Delete} {
			if op != nil && op.RequestBody != nil { // which huma adds for bodies that it does not read itself
				delete(op.RequestBody.Content, "application/octet-stream")
			}
		}
	}
	raw, err := json.Marshal(api.OpenAPI())
	if err != nil {
		return nil, fmt.Errorf("encoding the OpenAPI document: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return nil, fmt.Errorf("indenting the OpenAPI document: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// Document is the API's contract as docs/openapi.json has it. It depends on nothing that runs.
func Document() ([]byte, error) {
	s := &Server{methods: map[string][]string{}}
	s.api = humago.New(http.NewServeMux(), configuration("v1"))
	s.routes()
	return finish(s.api)
}
