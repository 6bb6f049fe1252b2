package board

import (
	"errors"
	"net/http"
	"net/url"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/clusterview"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/listview"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// clusterMap shows the gangs whose jobs the caller may list, and the free GPUs.
func (b *Board) clusterMap(r *http.Request) (view, error) {
	q, err := clusterview.ParseQuery(r.URL.Query())
	if err != nil {
		return view{}, err
	}
	cluster := r.PathValue("cluster")
	jobs, err := b.Jobs.VisibleJobs(r.Context(), cluster, "")
	if err != nil {
		return view{}, err
	}
	listsNodes, err := b.mayListNodes(r.Context(), cluster)
	if err != nil {
		return view{}, err
	}
	snapshot, err := b.Placement.Snapshot(cluster)
	if err != nil {
		return view{}, placementError(cluster, err)
	}
	v := &clusterview.View{
		Cluster: cluster, Query: q, Tiles: b.tiles,
		Map: placement.Of(snapshot, placement.NewViewer(listsNodes, jobs), jobs),
		Links: clusterview.Links{
			Job: jobLinks(cluster), Waiting: waitingURL(cluster), Queues: clusterURL(cluster) + "/queues",
		},
	}
	return viewOf("Map of "+cluster, v)
}

func placementError(cluster string, err error) error {
	if errors.Is(err, placement.ErrUnknownCluster) {
		return problem.Newf(problem.NotFound, "there is no cluster %s", cluster).About("path.cluster").
			WithRemedy("begin at " + Root)
	}
	return err
}

// jobLinks returns the paths of the pages of a cluster's jobs.
func jobLinks(cluster string) func(namespace, name string) string {
	return func(namespace, name string) string { return listview.JobURL(cluster, namespace, name) }
}

// waitingPhases are the phases of waiting jobs (queues.Waits).
const waitingPhases = string(listview.Unseen + "," + v1alpha1.PhasePending + "," + v1alpha1.PhaseQueued)

// waitingURL is the list of waiting jobs.
func waitingURL(cluster string) string {
	return clusterURL(cluster) + "/jobs?" + url.Values{"phase": {waitingPhases}}.Encode()
}
