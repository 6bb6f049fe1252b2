package board

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/jobview"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// ranks of a live job: from the server's own watches if the reader may see that, else from its status. logs
// is the page of its logs. Readers who see the same share them.
func (b *Board) ranks(r *http.Request, job *v1alpha1.TrainingJob, logs string) ([]fragment.Fragment, error) {
	in, err := b.ranksInput(r, job)
	if err != nil {
		return nil, err
	}
	in.Logs = logs
	version, err := ranksVersion(&in)
	if err != nil {
		return nil, err
	}
	key := drawnKey{cluster: r.PathValue("cluster"), uid: job.UID, from: drawnStatus}
	if in.Followed {
		key.from = drawnPods
	}
	return b.drawnRanks.of(key, version, func() ([]fragment.Fragment, bool, error) {
		v := jobview.RanksOf(in)
		fragments, err := v.Fragments()
		return fragments, true, err
	})
}

const fromStatus = "the ranks are those of the job's status."

func (b *Board) ranksInput(r *http.Request, job *v1alpha1.TrainingJob) (jobview.RanksInput, error) {
	in := jobview.RanksInput{Job: job}
	cluster := r.PathValue("cluster")
	may, err := b.mayFollowRanks(r.Context(), cluster, job.Namespace)
	switch {
	case r.Context().Err() != nil:
		return in, r.Context().Err()
	case err != nil:
		p := problem.Of(err)
		b.log(r, p)
		in.Notes = []string{"Your right to see the pods cannot be checked now, so " + fromStatus}
		return in, nil
	case !may:
		in.Notes = []string{"You may not list the pods of the namespace, so " + fromStatus}
		return in, nil
	}
	snapshot, err := b.Placement.Snapshot(cluster)
	if err != nil {
		return in, placementError(cluster, err)
	}
	for _, p := range snapshot.PodProblems {
		in.Notes = append(in.Notes, "The server cannot follow the pods of the cluster now, so "+fromStatus+" "+
			p.Remedy)
	}
	if snapshot.PodsKnown && len(in.Notes) == 0 {
		in.Followed, in.Placed = true, snapshot.Ranks(job.UID)
	}
	return in, nil
}

// mayFollowRanks reports whether the caller may see the server's view of a job's pods: users who may list the
// pods, and users who see the gang on the map.
func (b *Board) mayFollowRanks(ctx context.Context, cluster, namespace string) (bool, error) {
	may, err := b.Jobs.May(ctx, cluster, authorizationv1.ResourceAttributes{
		Verb: "list", Version: "v1", Resource: "pods", Namespace: namespace,
	})
	if may || err != nil {
		return may, err
	}
	if may, err = b.mayListNodes(ctx, cluster); !may || err != nil {
		return false, err
	}
	return b.Jobs.May(ctx, cluster, authorizationv1.ResourceAttributes{
		Verb: "list", Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version,
		Resource: "trainingjobs", Namespace: namespace,
	})
}

func (b *Board) mayListNodes(ctx context.Context, cluster string) (bool, error) {
	return b.Jobs.May(ctx, cluster,
		authorizationv1.ResourceAttributes{Verb: "list", Version: "v1", Resource: "nodes"})
}

// ranksVersion is a hash of the input of ranks.
func ranksVersion(in *jobview.RanksInput) ([sha256.Size]byte, error) {
	text, err := json.Marshal([]any{in.Job.ResourceVersion, in.Followed, in.Placed, in.Logs, in.Notes})
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("encoding ranks: %w", err)
	}
	return sha256.Sum256(text), nil
}
