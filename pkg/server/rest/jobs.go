package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// kind of the API's objects.
const kind = "TrainingJob"

// Job is a TrainingJob as in kubectl, without managed fields.
type Job struct{ of *v1alpha1.TrainingJob }

// NewJob wraps a TrainingJob.
func NewJob(of *v1alpha1.TrainingJob) Job { return Job{of} }

// TrainingJob returns the job; read only.
func (j Job) TrainingJob() *v1alpha1.TrainingJob { return j.of }

// MarshalJSON implements json.Marshaler.
func (j Job) MarshalJSON() ([]byte, error) { return encodeJob(j.of) }

// encodeJob encodes a job without changing it.
func encodeJob(job *v1alpha1.TrainingJob) ([]byte, error) {
	shown := *job
	shown.APIVersion, shown.Kind = v1alpha1.GroupVersion.String(), kind
	shown.ManagedFields = nil
	return json.Marshal(&shown)
}

// etag of a version of a job.
func etag(job *v1alpha1.TrainingJob) string {
	return `"` + string(job.UID) + "/" + job.ResourceVersion + `"`
}

// JobOutput is one job.
type JobOutput struct {
	Status  int
	ETag    string   `header:"ETag" doc:"The version of the job, for If-Match and If-None-Match."`
	Warning []string `header:"Warning" doc:"Warnings of the cluster, as in kubectl."`
	Body    Job
}

func (s *Server) routeJobs() {
	register(s, huma.Operation{
		OperationID: "listTrainingJobs", Method: http.MethodGet, Path: inCluster + "/trainingjobs", Tags: tagJobs,
		Summary: "List the TrainingJobs of all namespaces",
		Description: "The jobs of all namespaces in which the caller may list them, by namespace and name. " +
			"They are from a cache that follows the cluster within moments.",
	}, s.listAll)
	register(s, huma.Operation{
		OperationID: "listNamespacedTrainingJobs", Method: http.MethodGet, Path: namespaced, Tags: tagJobs,
		Summary: "List the TrainingJobs of a namespace", Description: "By name, from the same cache.",
	}, s.listNamespaced)
	register(s, huma.Operation{
		OperationID: "createTrainingJob", Method: http.MethodPost, Path: namespaced, Tags: tagJobs,
		Summary: "Create a TrainingJob", DefaultStatus: http.StatusCreated, MaxBodyBytes: maxBody,
		Description: "The body is a TrainingJob as in docs/api.md, without status. An unknown field  " +
			"is an error.",
		RequestBody: bodies("TrainingJob", typeJSON, typeYAML),
	}, s.create)
	register(s, huma.Operation{
		OperationID: "getTrainingJob", Method: http.MethodGet, Path: named, Tags: tagJobs,
		Summary: "Get a TrainingJob", Description: "Reads the job from the cluster, not from a cache.",
		Responses: notModified(),
	}, s.get)
	register(s, huma.Operation{
		OperationID: "patchTrainingJob", Method: http.MethodPatch, Path: named, Tags: tagJobs,
		Summary: "Change a TrainingJob", MaxBodyBytes: maxBody,
		Description: "A merge patch (RFC 7396) or a JSON patch (RFC 6902), by Content-Type. The API's own " +
			"rules define which " +
			"fields can change in which phase. Status and managed fields are read-only.",
		RequestBody: bodies("", typeMergePatch, typeJSONPatch),
	}, s.patch)
	register(s, huma.Operation{
		OperationID: "deleteTrainingJob", Method: http.MethodDelete, Path: named, Tags: tagJobs,
		Summary:     "Delete a TrainingJob",
		Description: "The response does not wait until its ranks have ended.",
	}, s.delete)
}

// GetInput names a job, and the version that the client has.
type GetInput struct {
	JobPath
	IfNoneMatch string `header:"If-None-Match" maxLength:"1000" doc:"ETags of the client's versions: 304 if the job has one of them."`
}

func (s *Server) get(ctx context.Context, in *GetInput) (*JobOutput, error) {
	job, err := s.job(ctx, in.JobPath)
	if err != nil {
		return nil, err
	}
	out := &JobOutput{Status: http.StatusOK, ETag: etag(job), Body: Job{job}}
	for tag := range strings.SplitSeq(in.IfNoneMatch, ",") {
		if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag == "*" || tag == out.ETag {
			out.Status = http.StatusNotModified
		}
	}
	return out, nil
}

// job reads a job as the caller.
func (s *Server) job(ctx context.Context, at JobPath) (*v1alpha1.TrainingJob, error) {
	c, _, err := s.as(ctx, at.Cluster)
	if err != nil {
		return nil, err
	}
	job := &v1alpha1.TrainingJob{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: at.Namespace, Name: at.Name}, job); err != nil {
		return nil, clusterError(at.Cluster, err)
	}
	return job, nil
}

// ClusterStatus describes one cluster.
type ClusterStatus struct {
	Name    string `json:"name"`
	Default bool   `json:"default" doc:"Whether it is the default cluster."`
	Synced  bool   `json:"synced" doc:"Whether the cluster's jobs are listed, so that lists are available."`
}

// ClustersOutput lists all clusters.
type ClustersOutput struct {
	Body struct {
		Items []ClusterStatus `json:"items"`
	}
}

func (s *Server) routeClusters() {
	register(s, huma.Operation{
		OperationID: "listClusters", Method: http.MethodGet, Path: root, Tags: []string{"Clusters"},
		Summary: "List the clusters", Description: "The configured clusters.",
	}, s.clusters)
}

func (s *Server) clusters(context.Context, *struct{}) (*ClustersOutput, error) {
	out := &ClustersOutput{}
	for i, name := range s.Access.Names() {
		out.Body.Items = append(out.Body.Items,
			ClusterStatus{Name: name, Default: i == 0, Synced: s.Live.Synced(name)})
	}
	return out, nil
}
