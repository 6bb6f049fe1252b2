//go:build cluster

package quotas

import (
	"context"
	"strings"
	"testing"

	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

func inQueue(name string) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.SchedulingPolicy.Queue = name }
}

// Volcano's queues and the namespace's quota use the same 4 nodes of 8 GPUs, one after the other.
func TestVolcanoAndNative(t *testing.T) {
	t.Parallel()
	w := get(t, startCluster)
	run(t, "volcano", func(t *testing.T) { volcanoQueues(t, w) })
	run(t, "native", func(t *testing.T) { namespaceQuota(t, w) })
}

// run one part of a sequence; the rest makes no sense if it fails.
func run(t *testing.T, name string, part func(*testing.T)) {
	t.Helper()
	if !t.Run(name, part) {
		t.FailNow()
	}
}

func volcanoQueues(t *testing.T, w *harness.Cluster) {
	p := newTeam(t, w, v1alpha1.SchedulerVolcano, "team-a")
	apply(t, w, "volcano/queues.yaml")
	for _, name := range []string{"research", "research-nlp", "research-vision", "product", "idle"} {
		p.Until("queue "+name+" is open", func(ctx context.Context) (string, error) {
			q := &volcanov1beta1.Queue{}
			q.Name = name
			if err := p.Client.Get(ctx, keyOf(q), q); err != nil {
				return "", err
			}
			if q.Status.State != volcanov1beta1.QueueStateOpen {
				return "its state is " + string(q.Status.State), nil
			}
			return "", nil
		})
	}
	run(t, "no other queue uses what is guaranteed to one", func(t *testing.T) {
		p := p.in(t)
		p.submit("greedy", 4, "8", inQueue("idle"))
		b := p.needs("greedy", v1alpha1.ReasonExceedsQuota, "32", "24")
		if !strings.Contains(b.Message, "guaranteed to product") {
			t.Errorf("the message must name the queue that GPUs are reserved for: %s", b.Message)
		}
		// Without a capability the root of Volcano 1.15 is infinite, and guarantees limit nothing.
		root := &volcanov1beta1.Queue{}
		root.Name = "root"
		p.MergePatch(root, `{"spec":{"capability":null}}`)
		p.runs("greedy", 1)
		p.remove("greedy")
		apply(t, w, "volcano/queues.yaml")

		p.submit("modest", 3, "8", inQueue("idle"))
		p.runs("modest", 1)
		p.submit("more", 1, "4", inQueue("idle")) // 8 are free
		p.needs("more", v1alpha1.ReasonQuotaExceeded, "4", "0")
		p.submit("ours", 1, "8", inQueue("product"))
		p.runs("ours", 1)
		p.undisturbed("modest")
		p.remove("modest", "more", "ours")
	})

	apply(t, w, "volcano/job.yaml")
	p.runs("bert", 1) // 8 of research-nlp

	run(t, "what can never start says so", func(t *testing.T) {
		p := p.in(t)
		p.submit("beyond-queue", 3, "8", inQueue("research-nlp"), inLimits)
		p.needs("beyond-queue", v1alpha1.ReasonExceedsQuota, "24", "8")
		p.submit("beyond-parent", 4, "8", inQueue("research-vision"))
		b := p.needs("beyond-parent", v1alpha1.ReasonExceedsQuota, "32", "16")
		if b.Object != "queues.scheduling.volcano.sh/research" {
			t.Errorf("it is the parent's capability: %+v", b)
		}
		p.submit("beyond-node", 1, "16", inQueue("product"))
		p.waits("beyond-node", v1alpha1.ReasonNoNodeLargeEnough)
		p.remove("beyond-queue", "beyond-parent", "beyond-node")
	})

	run(t, "capability holds, the queue's own and its parent's", func(t *testing.T) {
		p := p.in(t)
		p.submit("nlp-more", 2, "4", inQueue("research-nlp")) // 16, which is all of research-nlp
		p.runs("nlp-more", 1)
		p.submit("nlp-over", 1, "2", inQueue("research-nlp"))
		p.needs("nlp-over", v1alpha1.ReasonQuotaExceeded, "2", "0")
		// 12, and 8 are left of research; 16 are free on the nodes
		p.submit("vision-over", 3, "4", inQueue("research-vision"))
		b := p.needs("vision-over", v1alpha1.ReasonQuotaExceeded, "12", "8")
		if !strings.Contains(b.Message, "queue research ") || !strings.Contains(b.Message, "team-a/bert (8)") {
			t.Errorf("it is the parent's, and bert has some of it: %s", b.Message)
		}
		// The parent's other children still start.
		p.submit("vision-within", 2, "4", inQueue("research-vision"))
		p.runs("vision-within", 1)
		p.waits("vision-over", v1alpha1.ReasonQuotaExceeded)
		p.complete("nlp-more")
		p.runs("nlp-over", 1)
		p.remove("nlp-over", "vision-over", "vision-within")
	})

	run(t, "deserved GPUs are reclaimed only from borrowers", func(t *testing.T) {
		p := p.in(t)
		p.submit("product-first", 1, "8", inQueue("product")) // bert has the 8 that research-nlp deserves
		p.runs("product-first", 1)
		p.submit("borrower", 4, "4", inQueue("idle")) // with both the cluster is full
		p.runs("borrower", 1)
		p.submit("product-second", 1, "8", inQueue("product"))
		p.runs("product-second", 1)
		p.sentBack("borrower")
		p.undisturbed("bert", "product-first")
		p.waits("borrower", v1alpha1.ReasonInsufficientResources)
		p.complete("product-second")
		p.runs("borrower", 2)
		p.remove("product-first", "borrower")
	})

	run(t, "within what they deserve queues take nothing from each other", func(t *testing.T) {
		p := p.in(t)
		// 16: all it deserves, as bert's 8 are all that research-nlp does
		p.submit("product-1", 2, "8", inQueue("product"))
		p.runs("product-1", 1)
		p.submit("over", 2, "4", inQueue("idle"))
		p.runs("over", 1)
		p.submit("product-2", 1, "8", inQueue("product"))
		p.waits("product-2", v1alpha1.ReasonInsufficientResources)
		p.submit("vision", 1, "8", inQueue("research-vision"))
		p.runs("vision", 1)
		p.sentBack("over")
		p.undisturbed("bert", "product-1")
		p.waits("product-2", v1alpha1.ReasonInsufficientResources)
		p.remove("product-1", "over", "product-2", "vision", "bert")
	})
}
