package rest

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/queuereader"
	"mlplatform.example.com/trainingjob-operator/pkg/queues"
	"mlplatform.example.com/trainingjob-operator/pkg/server/access"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// maxNamespaces that are listed one by one, for a caller who may not list all at once.
const maxNamespaces = 100

// QueuesInput requests queues.
type QueuesInput struct {
	ClusterPath
	Namespace string `query:"namespace" maxLength:"63" pattern:"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" doc:"Only objects of one namespace. Cluster-scoped queues are always included."`
}

// QueuesOutput is queues.
type QueuesOutput struct{ Body queues.List }

func (s *Server) routeQueues() {
	register(s, huma.Operation{
		OperationID: "listQueues", Method: http.MethodGet, Path: inCluster + "/queues", Tags: []string{"Queues"},
		Summary: "List queues and quotas, with their use and jobs",
		Description: "Queues of Volcano and Kueue, ElasticQuotas and ResourceQuotas, that the cluster " +
			"serves and the caller may list.",
	}, s.queues)
}
func (s *Server) queues(ctx context.Context, in *QueuesInput) (*QueuesOutput, error) {
	v, err := s.view(in.Cluster)
	if err != nil {
		return nil, err
	}
	may, err := s.visible(ctx, in.Cluster, v.Namespaces())
	if TooManyNamespaces(err) && in.Namespace != "" {
		may, err = s.visible(ctx, in.Cluster, []string{in.Namespace})
	}
	if err != nil {
		return nil, err
	}
	var jobs []v1alpha1.TrainingJob
	for _, job := range v.Jobs {
		if may(job.Namespace) {
			jobs = append(jobs, *job)
		}
	}
	c, _, err := s.as(ctx, in.Cluster)
	if err != nil {
		return nil, err
	}
	r := queuereader.Reader{
		Client: c, Namespace: in.Namespace,
		Skips: func(err error) bool { var acting *access.Error; return errors.As(err, &acting) },
	}
	for _, namespace := range v.Namespaces() {
		if may(namespace) && len(r.Others) < maxNamespaces {
			r.Others = append(r.Others, namespace)
		}
	}
	objects, skipped, err := r.Read(ctx)
	if err != nil {
		return nil, clusterError(in.Cluster, err)
	}
	out := &QueuesOutput{queues.List{Items: queues.Of(objects, jobs), Unreadable: unreadableKinds(skipped)}}
	if out.Body.Items == nil {
		out.Body.Items = []queues.Queue{}
	}
	return out, nil
}

// unreadableKinds of the skipped objects, except kinds that the cluster does not serve.
func unreadableKinds(skipped []queuereader.Skipped) []queues.Unreadable {
	var all []queues.Unreadable
	for _, s := range skipped {
		if s.NotServed() || s.Partly {
			continue
		}
		p := problem.Of(clusterError("", s.Err))
		all = append(all, queues.Unreadable{Kind: s.Kind, Detail: p.Detail, Remedy: p.Remedy})
	}
	return all
}
