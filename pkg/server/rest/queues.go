package rest

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/queues"
	"mlplatform.example.com/trainingjob-operator/pkg/server/access"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

const (
	// maxNamespaces that are asked one by one, for a caller who may not list in all at once.
	maxNamespaces = 100
	// listsAtOnce of one request.
	listsAtOnce = 8
)

// QueuesInput asks for queues.
type QueuesInput struct {
	ClusterPath
	Namespace string `query:"namespace" maxLength:"63" pattern:"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" doc:"Of what has a namespace only that of one. Queues of the whole cluster are there all the same."`
}

// QueueList is the queues that the caller may list.
type QueueList struct {
	Items []queues.Queue `json:"items" nullable:"false" doc:"By scheduler, kind, namespace and name. The jobs in them are those that the caller may list."`
	// Unreadable kinds of which there may be some.
	Unreadable []Unreadable `json:"unreadable,omitempty" doc:"Kinds that could not be listed, of which there may be some all the same."`
}

// Unreadable is a kind that could not be listed.
type Unreadable struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy"`
}

// QueuesOutput is queues.
type QueuesOutput struct{ Body QueueList }

func (s *Server) routeQueues() {
	register(s, huma.Operation{
		OperationID: "listQueues", Method: http.MethodGet, Path: inCluster + "/queues", Tags: []string{"Queues"},
		Summary: "List queues and quotas, with their use and their jobs",
		Description: "Queues of Volcano and Kueue, ElasticQuotas and ResourceQuotas, as far as the cluster " +
			"serves them and the caller may list them there.",
	}, s.queues)
}

func (s *Server) queues(ctx context.Context, in *QueuesInput) (*QueuesOutput, error) {
	v, err := s.view(in.Cluster)
	if err != nil {
		return nil, err
	}
	may, err := s.visible(ctx, in.Cluster, v.Namespaces())
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
	l := &lister{client: c, namespace: in.Namespace}
	for _, namespace := range v.Namespaces() {
		if may(namespace) && len(l.others) < maxNamespaces {
			l.others = append(l.others, namespace)
		}
	}
	if err := l.listAll(ctx); err != nil {
		return nil, clusterError(in.Cluster, err)
	}
	out := &QueuesOutput{QueueList{Items: queues.Of(l.objects, jobs), Unreadable: l.unreadable}}
	if out.Body.Items == nil {
		out.Body.Items = []queues.Queue{}
	}
	return out, nil
}

// lister of what queues are made of, as the caller.
type lister struct {
	client client.Client
	// namespace that is asked for; empty for all.
	namespace string
	// others are asked one by one where the caller may not list in all at once.
	others []string

	mu         sync.Mutex
	objects    queues.Objects
	unreadable []Unreadable
}

func (l *lister) listAll(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(listsAtOnce)
	for _, list := range queues.Lists() {
		g.Go(func() error { return l.list(ctx, list) })
	}
	err := g.Wait()
	slices.SortFunc(l.unreadable, func(a, b Unreadable) int { return strings.Compare(a.Kind, b.Kind) })
	return err
}

// list one kind. One that the cluster does not serve has no objects.
func (l *lister) list(ctx context.Context, list client.ObjectList) error {
	var in client.InNamespace
	if namespacedKind(list) {
		in = client.InNamespace(l.namespace)
	}
	err := l.client.List(ctx, list, in)
	if apierrors.IsForbidden(err) && in == "" && namespacedKind(list) && l.listEach(ctx, list) {
		return nil
	}
	var acting *access.Error
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.objects.Add(list)
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
	case apierrors.IsForbidden(err), errors.As(err, &acting):
		p := problem.Of(clusterError("", err))
		l.unreadable = append(l.unreadable, Unreadable{kindOf(list), p.Detail, p.Remedy})
	default:
		return err
	}
	return nil
}

// listEach of the namespaces that have jobs of the caller's, and reports whether it may list in any.
func (l *lister) listEach(ctx context.Context, list client.ObjectList) bool {
	some := false
	for _, namespace := range l.others {
		one, ok := reflect.New(reflect.TypeOf(list).Elem()).Interface().(client.ObjectList)
		if !ok || l.client.List(ctx, one, client.InNamespace(namespace)) != nil {
			continue // what may not be listed in any is said with the error of all
		}
		l.mu.Lock()
		l.objects.Add(one)
		l.mu.Unlock()
		some = true
	}
	return some
}

// kindOf the items of a list.
func kindOf(list client.ObjectList) string {
	return strings.TrimSuffix(reflect.TypeOf(list).Elem().Name(), "List")
}

// namespacedKind reports whether the items of a list have a namespace.
func namespacedKind(list client.ObjectList) bool {
	return slices.Contains([]string{"LocalQueue", "ElasticQuota", "ResourceQuota"}, kindOf(list))
}
