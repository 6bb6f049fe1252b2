package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"regexp"
	"strings"

	kjson "sigs.k8s.io/json"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/boundedyaml"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// fieldOwner of what is written through the API.
const fieldOwner = client.FieldOwner("trainingjob-server")

// strictly asks the API server to refuse fields that it does not know.
const strictly = client.FieldValidation("Strict")

// CreateInput is a TrainingJob to be.
type CreateInput struct {
	NamespacePath
	DryRun
	ContentType string `header:"Content-Type"`
	RawBody     []byte
}

// CreateOutput is the job that was created.
type CreateOutput struct {
	Location string   `header:"Location" doc:"Path of the job; absent after a dry run."`
	ETag     string   `header:"ETag" doc:"Names this version of the job, for If-Match and If-None-Match."`
	Warning  []string `header:"Warning" doc:"What the cluster warns of, as kubectl prints it."`
	Body     Job
}

func (s *Server) create(ctx context.Context, in *CreateInput) (*CreateOutput, error) {
	c, _, err := s.as(ctx, in.Cluster)
	if err != nil {
		return nil, err
	}
	job, err := s.decode(ctx, in)
	if err != nil {
		return nil, err
	}
	options := []client.CreateOption{fieldOwner, strictly}
	if in.DryRun.DryRun != "" {
		options = append(options, client.DryRunAll)
	}
	ctx, warnings := collectWarnings(ctx)
	if err := c.Create(ctx, job, options...); err != nil {
		return nil, clusterError(in.Cluster, err)
	}
	out := &CreateOutput{ETag: etag(job), Warning: warnings.headers(), Body: Job{job}}
	if in.DryRun.DryRun == "" {
		out.Location = strings.NewReplacer(
			"{cluster}", in.Cluster, "{namespace}", in.Namespace, "{name}", job.Name).Replace(named)
	}
	return out, nil
}

func (s *Server) decode(ctx context.Context, in *CreateInput) (*v1alpha1.TrainingJob, error) {
	leave, err := s.beginDecoding(ctx, in.RawBody, in.ContentType)
	if err != nil {
		return nil, err
	}
	defer leave()
	return decode(in.RawBody, in.ContentType, in.Namespace)
}

// beginDecoding waits until a body may be decoded. Bodies in JSON have the bound of those in YAML, because an
// empty object in a list takes more memory than a node of YAML.
func (s *Server) beginDecoding(ctx context.Context, body []byte, contentType string) (func(), error) {
	nodes := boundedyaml.Nodes(body)
	if nodes > boundedyaml.MaxNodes {
		return nil, problem.Newf(problem.TooLarge, "the body has more than %d values", boundedyaml.MaxNodes).
			About("body").WithRemedy("send fewer")
	}
	if isYAML(contentType) {
		nodes = boundedyaml.Weight(body)
	}
	return s.BeginDecoding(ctx, nodes)
}

// isYAML reports whether a content type is one of YAML.
func isYAML(contentType string) bool {
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && (mediaType == typeYAML || mediaType == "application/x-yaml" || mediaType == "text/yaml")
}

// decode reads a TrainingJob that is to be created in a namespace. Nothing that it has is ignored.
func decode(body []byte, contentType, namespace string) (*v1alpha1.TrainingJob, error) {
	body, err := asJSON(body, contentType)
	if err != nil {
		return nil, err
	}
	if err := unwritable(body); err != nil {
		return nil, err
	}
	job := &v1alpha1.TrainingJob{}
	strict, err := kjson.UnmarshalStrict(body, job)
	if err != nil {
		return nil, unreadable(err)
	}
	var all []problem.Error
	for _, err := range strict {
		all = append(all, unknownField(err))
	}
	if all = append(all, disagreements(job, namespace)...); len(all) > 0 {
		return nil, problem.New(problem.Malformed, "", "").WithErrors(all)
	}
	job.Namespace = namespace
	return job, nil
}

// asJSON is a body that is JSON or YAML by its content type.
func asJSON(body []byte, contentType string) ([]byte, error) {
	mediaType, _, err := mime.ParseMediaType(contentType)
	switch {
	case isYAML(contentType):
		converted, err := new(boundedyaml.Input).ToJSON(body)
		if err != nil {
			return nil, problem.Newf(problem.Malformed, "the body is no YAML: %v", err).About("body").
				WithRemedy("send one TrainingJob")
		}
		return converted, nil
	case contentType == "" || err == nil && mediaType == typeJSON:
		return body, nil
	}
	return nil, problem.Newf(problem.UnsupportedMediaType, "a TrainingJob is not taken as %s", contentType).
		About("header.Content-Type").WithRemedy("send " + typeJSON + " or " + typeYAML)
}

// unwritable reports an error for parts of a job that others write.
func unwritable(body []byte) error {
	var parts struct {
		Status   json.RawMessage            `json:"status"`
		Metadata map[string]json.RawMessage `json:"metadata"`
	}
	if json.Unmarshal(body, &parts) != nil {
		return nil // the strict decoding says what is wrong
	}
	if parts.Status != nil {
		return readOnly("status", "the operator writes it")
	}
	for _, field := range []string{"managedFields", "uid", "resourceVersion"} {
		if parts.Metadata[field] != nil {
			return readOnly("metadata."+field, "the cluster writes it")
		}
	}
	return nil
}

func readOnly(field, why string) *problem.Problem {
	return problem.New(problem.Malformed, "it cannot be written: "+why, "leave it out").About(field)
}

// mismatch is how package json says that a value has another type.
var mismatch = regexp.MustCompile(`cannot unmarshal (\S+) into Go struct field [^. ]+\.(\S+) of type (\S+)`)

func unreadable(err error) error {
	if found := mismatch.FindStringSubmatch(err.Error()); found != nil {
		return problem.Newf(problem.Malformed, "it is a %s, where %s is expected", found[1], found[3]).
			About(found[2]).WithRemedy("give it a value of that type (docs/api.md)")
	}
	return problem.Newf(problem.Malformed, "the body cannot be read: %v", err).About("body").
		WithRemedy("send one TrainingJob as JSON, or as YAML with Content-Type " + typeYAML)
}

// unknownField of a strict error: a field that does not exist, or is there twice.
func unknownField(err error) problem.Error {
	said := problem.Error{Detail: err.Error(), Remedy: "change it as the detail says"}
	var at kjson.FieldError
	if !errors.As(err, &at) {
		return said
	}
	said.Field = at.FieldPath()
	if strings.HasPrefix(err.Error(), "duplicate") {
		said.Detail, said.Remedy = "the field is there twice", "leave one of them out"
	} else {
		said.Detail = "there is no such field"
		said.Remedy = "leave it out, or spell it as docs/api.md does"
	}
	return said
}

// disagreements of a job with the path that it was sent to.
func disagreements(job *v1alpha1.TrainingJob, namespace string) []problem.Error {
	var all []problem.Error
	for _, part := range []struct{ field, is, want string }{
		{"apiVersion", job.APIVersion, v1alpha1.GroupVersion.String()}, {"kind", job.Kind, kind},
		{"metadata.namespace", job.Namespace, namespace},
	} {
		if part.is != "" && part.is != part.want {
			all = append(all, problem.Error{
				Field: part.field, Detail: fmt.Sprintf("it is %q, but the path has %q", part.is, part.want),
				Remedy: "make them agree, or leave it out",
			})
		}
	}
	if job.Name == "" && job.GenerateName == "" {
		all = append(all, problem.Error{
			Field: "metadata.name", Detail: "the job has no name",
			Remedy: "give metadata.name or metadata.generateName",
		})
	}
	return all
}
