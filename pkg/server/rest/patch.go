package rest

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// PatchInput is a change of a job.
type PatchInput struct {
	JobPath
	DryRun
	IfMatch
	ContentType string `header:"Content-Type"`
	RawBody     []byte
}

func (s *Server) patch(ctx context.Context, in *PatchInput) (*JobOutput, error) {
	only, err := in.parse()
	if err != nil {
		return nil, err
	}
	mediaType, body, err := s.check(ctx, in, only)
	if err != nil {
		return nil, err
	}
	return s.send(ctx, in.JobPath, client.RawPatch(mediaType, body), only, in.DryRun)
}

// check decodes a patch, and returns its type and the patch for the cluster.
func (s *Server) check(
	ctx context.Context, in *PatchInput, only precondition,
) (types.PatchType, []byte, error) {
	leave, err := s.beginDecoding(ctx, in.RawBody, in.ContentType)
	if err != nil {
		return "", nil, err
	}
	defer leave()
	mediaType, _, _ := mime.ParseMediaType(in.ContentType)
	var body []byte
	switch mediaType {
	case typeMergePatch:
		body, err = mergePatch(in.RawBody, in.JobPath, only)
	case typeJSONPatch:
		body, err = jsonPatch(in.RawBody, only)
	default:
		err = problem.Newf(problem.UnsupportedMediaType, "%q is not supported for a patch", in.ContentType).
			About("header.Content-Type").WithRemedy("send " + typeMergePatch + " or " + typeJSONPatch)
	}
	return types.PatchType(mediaType), body, err
}

// send sends a patch as the caller.
func (s *Server) send(
	ctx context.Context, at JobPath, patch client.Patch, only precondition, dry DryRun,
) (*JobOutput, error) {
	c, _, err := s.as(ctx, at.Cluster)
	if err != nil {
		return nil, err
	}
	options := []client.PatchOption{fieldOwner, strictly}
	if dry.DryRun != "" {
		options = append(options, client.DryRunAll)
	}
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name}}
	ctx, warnings := collectWarnings(ctx)
	if err := c.Patch(ctx, job, patch, options...); err != nil {
		return nil, clusterError(at.Cluster, only.refused(err))
	}
	return &JobOutput{
		Status: http.StatusOK, ETag: etag(job), Warning: warnings.headers(), Body: Job{job},
	}, nil
}

// mergePatch checks a merge patch, and adds the precondition, which the API server checks with the change.
func mergePatch(body []byte, at JobPath, only precondition) ([]byte, error) {
	var patch map[string]json.RawMessage
	if err := json.Unmarshal(body, &patch); err != nil || patch == nil {
		return nil, problem.New(problem.Malformed, "a merge patch must be a JSON object",
			"send a JSON object").About("body")
	}
	if _, has := patch["status"]; has {
		return nil, readOnly("status", "the operator writes it")
	}
	var metadata map[string]json.RawMessage
	if raw, has := patch["metadata"]; has {
		if err := json.Unmarshal(raw, &metadata); err != nil || metadata == nil {
			return nil, problem.New(problem.Malformed, "not a JSON object",
				"send a JSON object").About("metadata")
		}
	}
	if _, has := metadata["managedFields"]; has {
		return nil, readOnly("metadata.managedFields", "the cluster writes it")
	}
	if err := namesOf(patch, metadata, at); err != nil {
		return nil, err
	}
	if only.empty() {
		return body, nil
	}
	if metadata == nil {
		metadata = map[string]json.RawMessage{}
	}
	for field, value := range only.fields() {
		metadata[field], _ = json.Marshal(value) // a string
	}
	patch["metadata"], _ = json.Marshal(metadata) // made of what was decoded
	return json.Marshal(patch)
}

// namesOf checks that the names in a patch agree with the path.
func namesOf(patch, metadata map[string]json.RawMessage, at JobPath) error {
	for _, part := range []struct {
		of                 map[string]json.RawMessage
		key, within, wants string
	}{
		{patch, "apiVersion", "", v1alpha1.GroupVersion.String()}, {patch, "kind", "", kind},
		{metadata, "namespace", "metadata.", at.Namespace}, {metadata, "name", "metadata.", at.Name},
	} {
		raw, has := part.of[part.key]
		var is string
		if has && (json.Unmarshal(raw, &is) != nil || is != part.wants) {
			return problem.Newf(problem.Malformed, "is %s, but the path has %q", raw, part.wants).
				About(part.within + part.key).WithRemedy("remove it: it cannot change")
		}
	}
	return nil
}

// fields of metadata with the precondition.
func (p precondition) fields() map[string]string {
	all := map[string]string{}
	if p.uid != "" {
		all["uid"] = string(p.uid)
	}
	if p.resourceVersion != "" {
		all["resourceVersion"] = p.resourceVersion
	}
	return all
}

// operation of a JSON patch.
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	From  string          `json:"from,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// jsonPatch checks a JSON patch, and adds the precondition: if the patch sets another version than the job
// has, the API server reports a conflict.
func jsonPatch(body []byte, only precondition) ([]byte, error) {
	var operations []json.RawMessage
	if err := json.Unmarshal(body, &operations); err != nil || operations == nil {
		return nil, problem.New(problem.Malformed, "a JSON patch must be an array of operations",
			"send an array").
			About("body")
	}
	for _, raw := range operations {
		var op operation
		if err := json.Unmarshal(raw, &op); err != nil {
			return nil, problem.Newf(problem.Malformed, "an operation of the patch cannot be read: %v", err).
				About("body").WithRemedy("send operations of RFC 6902")
		}
		if err := op.allowed(); err != nil {
			return nil, err
		}
	}
	for _, field := range []string{"uid", "resourceVersion"} {
		if value, has := only.fields()[field]; has {
			text, _ := json.Marshal(value) // a string
			add, _ := json.Marshal(operation{Op: "add", Path: "/metadata/" + field, Value: text})
			operations = append(operations, add)
		}
	}
	return json.Marshal(operations)
}

// allowed returns an error for an operation that writes fields of others. It accepts the operation test.
func (op operation) allowed() error {
	if op.Op == "test" {
		return nil
	}
	paths := []string{op.Path}
	if op.Op == "move" {
		paths = append(paths, op.From)
	}
	for _, path := range paths {
		switch {
		case path == "" || path == "/metadata":
			return problem.Newf(problem.Malformed, "%s of %q would change fields that others write", op.Op,
				path).
				About("body").WithRemedy("change only specific fields")
		case path == "/status" || strings.HasPrefix(path, "/status/"):
			return readOnly("status", "the operator writes it")
		case strings.HasPrefix(path, "/metadata/managedFields"):
			return readOnly("metadata.managedFields", "the cluster writes it")
		}
	}
	return nil
}

// DeleteInput names the job to delete.
type DeleteInput struct {
	JobPath
	DryRun
	IfMatch
	PropagationPolicy metav1.DeletionPropagation `query:"propagationPolicy" enum:"Background,Foreground,Orphan" default:"Background" doc:"Background: the job is deleted first, then its pods. Foreground: its pods first. Orphan: its pods stay."`
}

// DeleteOutput is empty.
type DeleteOutput struct {
	Warning []string `header:"Warning" doc:"Warnings of the cluster, as in kubectl."`
}

// delete deletes a job. An API server ignores a deletion's parameters if it has a body, which the client
// always sends, so the dry run is in the body (client.DryRunAll).
func (s *Server) delete(ctx context.Context, in *DeleteInput) (*DeleteOutput, error) {
	only, err := in.parse()
	if err != nil {
		return nil, err
	}
	c, _, err := s.as(ctx, in.Cluster)
	if err != nil {
		return nil, err
	}
	options := []client.DeleteOption{client.PropagationPolicy(in.PropagationPolicy)}
	if in.DryRun.DryRun != "" {
		options = append(options, client.DryRunAll)
	}
	if !only.empty() {
		var conditions client.Preconditions
		if only.uid != "" {
			conditions.UID = &only.uid
		}
		if only.resourceVersion != "" {
			conditions.ResourceVersion = &only.resourceVersion
		}
		options = append(options, conditions)
	}
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: in.Namespace, Name: in.Name}}
	ctx, warnings := collectWarnings(ctx)
	if err := c.Delete(ctx, job, options...); err != nil {
		return nil, clusterError(in.Cluster, only.refused(err))
	}
	return &DeleteOutput{Warning: warnings.headers()}, nil
}
