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

// fieldOwner of the API's writes.
const fieldOwner = client.FieldOwner("trainingjob-server")

// strictly makes the API server reject unknown fields.
const strictly = client.FieldValidation("Strict")

// CreateInput is a new TrainingJob.
type CreateInput struct {
	NamespacePath
	DryRun
	ContentType string `header:"Content-Type"`
	RawBody     []byte
}

// CreateOutput is the job that was created.
type CreateOutput struct {
	Location string   `header:"Location" doc:"Path of the job; absent after a dry run."`
	ETag     string   `header:"ETag" doc:"The version of the job, for If-Match and If-None-Match."`
	Warning  []string `header:"Warning" doc:"Warnings of the cluster, as in kubectl."`
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

// beginDecoding waits until a body may be decoded. JSON has the limit of YAML, because an empty object in a
// list takes more memory than a node of YAML.
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

// isYAML reports whether a content type is YAML.
func isYAML(contentType string) bool {
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && (mediaType == typeYAML || mediaType == "application/x-yaml" || mediaType == "text/yaml")
}

// decode reads the TrainingJob to create in a namespace. It ignores no field.
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

// asJSON returns the body as JSON; it is JSON or YAML, by its content type.
func asJSON(body []byte, contentType string) ([]byte, error) {
	mediaType, _, err := mime.ParseMediaType(contentType)
	switch {
	case isYAML(contentType):
		converted, err := new(boundedyaml.Input).ToJSON(body)
		if err != nil {
			return nil, problem.Newf(problem.Malformed, "the body is not YAML: %v", err).About("body").
				WithRemedy("send one TrainingJob")
		}
		return converted, nil
	case contentType == "" || err == nil && mediaType == typeJSON:
		return body, nil
	}
	return nil, problem.Newf(problem.UnsupportedMediaType, "%s is not supported for a TrainingJob",
		contentType).
		About("header.Content-Type").WithRemedy("send " + typeJSON + " or " + typeYAML)
}

// unwritable returns an error for fields that others write.
func unwritable(body []byte) error {
	var parts struct {
		Status   json.RawMessage            `json:"status"`
		Metadata map[string]json.RawMessage `json:"metadata"`
	}
	if json.Unmarshal(body, &parts) != nil {
		return nil // strict decoding reports the error
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
	return problem.New(problem.Malformed, "it is read-only: "+why, "remove it").About(field)
}

// mismatch matches package json's error for a value of another type.
var mismatch = regexp.MustCompile(`cannot unmarshal (\S+) into Go struct field [^. ]+\.(\S+) of type (\S+)`)

func unreadable(err error) error {
	if found := mismatch.FindStringSubmatch(err.Error()); found != nil {
		return problem.Newf(problem.Malformed, "it is a %s, %s is expected", found[1], found[3]).
			About(found[2]).WithRemedy("set a value of that type (docs/api.md)")
	}
	return problem.Newf(problem.Malformed, "the body cannot be read: %v", err).About("body").
		WithRemedy("send one TrainingJob as JSON, or as YAML with Content-Type " + typeYAML)
}

// unknownField converts an error of strict decoding: an unknown or duplicate field.
func unknownField(err error) problem.Error {
	found := problem.Error{Detail: err.Error(), Remedy: "correct it as described"}
	var at kjson.FieldError
	if !errors.As(err, &at) {
		return found
	}
	found.Field = at.FieldPath()
	if strings.HasPrefix(err.Error(), "duplicate") {
		found.Detail, found.Remedy = "duplicate field", "remove one of them"
	} else {
		found.Detail = "unknown field"
		found.Remedy = "remove it, or correct its name (docs/api.md)"
	}
	return found
}

// disagreements between a job and the path of the request.
func disagreements(job *v1alpha1.TrainingJob, namespace string) []problem.Error {
	var all []problem.Error
	for _, part := range []struct{ field, is, want string }{
		{"apiVersion", job.APIVersion, v1alpha1.GroupVersion.String()}, {"kind", job.Kind, kind},
		{"metadata.namespace", job.Namespace, namespace},
	} {
		if part.is != "" && part.is != part.want {
			all = append(all, problem.Error{
				Field: part.field, Detail: fmt.Sprintf("is %q, but the path has %q", part.is, part.want),
				Remedy: "make them agree, or remove it",
			})
		}
	}
	if job.Name == "" && job.GenerateName == "" {
		all = append(all, problem.Error{
			Field: "metadata.name", Detail: "the job has no name",
			Remedy: "set metadata.name or metadata.generateName",
		})
	}
	return all
}
