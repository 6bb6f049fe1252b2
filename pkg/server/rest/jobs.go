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

// Job is a TrainingJob as it is shown: as kubectl shows it, without managed fields.
type Job struct{ of *v1alpha1.TrainingJob }

// NewJob shows a TrainingJob.
func NewJob(of *v1alpha1.TrainingJob) Job { return Job{of} }

// TrainingJob that is shown; read only.
func (j Job) TrainingJob() *v1alpha1.TrainingJob { return j.of }

// MarshalJSON implements json.Marshaler.
func (j Job) MarshalJSON() ([]byte, error) { return encodeJob(j.of) }

// encodeJob without changing it.
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
	ETag    string   `header:"ETag" doc:"Names this version of the job, for If-Match and If-None-Match."`
	Warning []string `header:"Warning" doc:"What the cluster warns of, as kubectl prints it."`
	Body    Job
}

func (s *Server) routeJobs() {
	register(s, huma.Operation{
		OperationID: "listTrainingJobs", Method: http.MethodGet, Path: inCluster + "/trainingjobs", Tags: tagJobs,
		Summary: "List the TrainingJobs of all namespaces",
		Description: "Has the jobs of those namespaces in which the caller may list them, by namespace and name. " +
			"It is read from a cache that follows the cluster within moments.",
	}, s.listAll)
	register(s, huma.Operation{
		OperationID: "listNamespacedTrainingJobs", Method: http.MethodGet, Path: namespaced, Tags: tagJobs,
		Summary: "List the TrainingJobs of a namespace", Description: "By name, from the same cache.",
	}, s.listNamespaced)
	register(s, huma.Operation{
		OperationID: "createTrainingJob", Method: http.MethodPost, Path: namespaced, Tags: tagJobs,
		Summary: "Create a TrainingJob", DefaultStatus: http.StatusCreated, MaxBodyBytes: maxBody,
		Description: "The body is a TrainingJob as docs/api.md describes it, without status. A field that does " +
			"not exist is an error.",
		RequestBody: bodies("TrainingJob", typeJSON, typeYAML),
	}, s.create)
	register(s, huma.Operation{
		OperationID: "getTrainingJob", Method: http.MethodGet, Path: named, Tags: tagJobs,
		Summary: "Get a TrainingJob", Description: "It is read from the cluster, not from a cache.",
		Responses: notModified(),
	}, s.get)
	register(s, huma.Operation{
		OperationID: "patchTrainingJob", Method: http.MethodPatch, Path: named, Tags: tagJobs,
		Summary: "Change a TrainingJob", MaxBodyBytes: maxBody,
		Description: "A merge patch (RFC 7396) or a JSON patch (RFC 6902), by Content-Type. Which fields can " +
			"change in which phase is the API's own rule. The status and managed fields cannot be written.",
		RequestBody: bodies("", typeMergePatch, typeJSONPatch),
	}, s.patch)
	register(s, huma.Operation{
		OperationID: "deleteTrainingJob", Method: http.MethodDelete, Path: named, Tags: tagJobs,
		Summary: "Delete a TrainingJob", Description: "The answer does not wait until its ranks are gone.",
	}, s.delete)
}

// GetInput names a job, and the version that the client has.
type GetInput struct {
	JobPath
	IfNoneMatch string `header:"If-None-Match" maxLength:"1000" doc:"ETags that the client has: 304 if the job is that version."`
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

// job reads one as the caller.
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

// ClusterStatus is one cluster.
type ClusterStatus struct {
	Name    string `json:"name"`
	Default bool   `json:"default" doc:"Whether it is the one to use where nothing else is said."`
	Synced  bool   `json:"synced" doc:"Whether the cluster's jobs have been read, so that lists are served."`
}

// ClustersOutput is all clusters.
type ClustersOutput struct {
	Body struct {
		Items []ClusterStatus `json:"items"`
	}
}

func (s *Server) routeClusters() {
	register(s, huma.Operation{
		OperationID: "listClusters", Method: http.MethodGet, Path: root, Tags: []string{"Clusters"},
		Summary: "List the clusters", Description: "Those that the server is configured for.",
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
