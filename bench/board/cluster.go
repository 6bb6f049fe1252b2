package board

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/live"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
)

// clusterName in the URLs.
const clusterName = "main"

// Size of a cluster. Jobs that do not run are queued, except for a few that have ended.
type Size struct {
	// Jobs in total; Running of them run, including the large one.
	Jobs, Running int
	// LargeRanks is the number of ranks of the large job, Ranks that of each other job, with one GPU each.
	LargeRanks, Ranks int
}

// FullSize is the documented limit of the board: 1,000 jobs, and 10,000 ranks on 1,250 nodes.
var FullSize = Size{Jobs: 1000, Running: 601, LargeRanks: 1000, Ranks: 15}

// gpusPerNode, and nodes per rack.
const (
	gpusPerNode  = 8
	nodesPerRack = 32
	namespaces   = 20
	maxListed    = 100 // ranks in a job's status (v1alpha1.TrainingJobStatus)
	totalSteps   = 50_000
)

// Names of queues and priority classes.
var (
	queueNames = []string{"research", "vision", "speech", "robotics", "platform"}
	priorities = []string{"batch-low", "batch", "interactive"}
	users      = []string{"ada", "grace", "edsger", "barbara", "donald", "leslie", "frances"}
)

// cluster has the objects and the pages that follow them.
type cluster struct {
	size Size

	mu      sync.Mutex
	version int
	made    int
	// jobs by namespace and name. A version of a job never changes.
	jobs []*v1alpha1.TrainingJob
	// running, queued and ended are UIDs, the oldest first, without the large job.
	running, queued, ended []types.UID
	large                  types.UID
	stage                  int   // of the large job, in stages
	unready                []int // ranks of the large job
	// turn rotates the jobs that changes begin with.
	turn int
	// nodes of the map, with their ranks; changed ones are to be sent.
	nodes   []*placement.OnNode
	pods    []map[rankRef]placement.Rank
	changed map[int]bool
	// at is the node of each rank of a job.
	at map[types.UID][]int
	// record of the large job in the history.
	record history.Record

	followers     map[chan live.Event]struct{}
	rankFollowers map[chan struct{}]struct{}
}

// rankRef is a rank of a job on a node.
type rankRef struct {
	job   placement.Job
	index int32
}

func newCluster(size Size) *cluster {
	c := &cluster{
		size: size, at: map[types.UID][]int{}, changed: map[int]bool{}, followers: map[chan live.Event]struct{}{},
		rankFollowers: map[chan struct{}]struct{}{},
	}
	gpus := size.LargeRanks + (size.Running-1)*size.Ranks
	for n := range (gpus+gpusPerNode-1)/gpusPerNode + 4 { // some stay free
		c.nodes = append(c.nodes, &placement.OnNode{Exists: true, Node: placement.Node{
			Name: fmt.Sprintf("gpu-%04d", n), Kind: kindOf(n), DomainKey: "example.com/rack",
			Domain: fmt.Sprintf("rack-%02d", n/nodesPerRack), Capacity: gpusPerNode, Allocatable: gpusPerNode,
			Ready: n%97 != 3, Cordoned: n%89 == 5,
		}})
		c.pods = append(c.pods, map[rankRef]placement.Rank{})
	}
	free := 0 // the next GPU
	for n := range size.Jobs {
		job := c.newJob()
		uid := job.UID
		switch {
		case n < size.Running:
			ranks := size.Ranks
			if n == 0 {
				ranks, c.large = size.LargeRanks, uid
				job.Spec.Replicas = new(int32(ranks))
			} else {
				c.running = append(c.running, uid)
			}
			for range ranks {
				c.at[uid] = append(c.at[uid], free/gpusPerNode)
				free++
			}
			c.start(job)
		case n < size.Jobs-size.Jobs/20:
			c.queued = append(c.queued, uid)
			enqueue(job, n)
		default:
			c.ended = append(c.ended, uid)
			c.end(job)
		}
		c.jobs = append(c.jobs, job)
	}
	slices.SortFunc(c.jobs, compareJobs)
	c.publish()
	return c
}

// kindOf returns the kind of GPU of a node, which depends on its rack.
func kindOf(node int) string {
	if node/nodesPerRack%3 == 2 {
		return "NVIDIA-A100-SXM4-80GB"
	}
	return "NVIDIA-H100-80GB-HBM3"
}

func compareJobs(a, b *v1alpha1.TrainingJob) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// newJob returns a job without a status. Its age depends on its number.
func (c *cluster) newJob() *v1alpha1.TrainingJob {
	n := c.made
	c.made++
	job := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("team-%02d", n%namespaces), Name: fmt.Sprintf("pretrain-llama-%05d", n),
			UID:               types.UID(fmt.Sprintf("6f7c1a52-3c1e-4f0b-9d55-%012d", n)),
			CreationTimestamp: metav1.NewTime(time.Now().Add(time.Duration(n-c.size.Jobs) * time.Minute)),
			Annotations:       map[string]string{userKey: users[n%len(users)] + "@example.com"},
		},
		Spec: v1alpha1.TrainingJobSpec{Framework: v1alpha1.FrameworkPyTorch, Replicas: new(int32(c.size.Ranks))},
	}
	policy := &job.Spec.RunPolicy.SchedulingPolicy
	policy.Queue, policy.Scheduler = queueNames[n%len(queueNames)], v1alpha1.SchedulerVolcano
	policy.PriorityClass = priorities[n%len(priorities)]
	return c.next(job)
}

// userKey is the annotation that names a job's user.
const userKey = "example.com/user"

// next version of a job.
func (c *cluster) next(job *v1alpha1.TrainingJob) *v1alpha1.TrainingJob {
	job = job.DeepCopy()
	c.version++
	job.ResourceVersion = fmt.Sprint(c.version)
	return job
}

// set a new version of a job, or a new job.
func (c *cluster) set(job *v1alpha1.TrainingJob) {
	i, known := slices.BinarySearchFunc(c.jobs, job, compareJobs)
	if !known {
		c.jobs = slices.Insert(c.jobs, i, job)
		return
	}
	c.jobs[i] = job
	if job.UID == c.large {
		c.record = history.Merge(c.record, recordOf(job))
	}
}

// find a job.
func (c *cluster) find(uid types.UID) *v1alpha1.TrainingJob {
	return c.jobs[slices.IndexFunc(c.jobs, func(j *v1alpha1.TrainingJob) bool { return j.UID == uid })]
}

func recordOf(job *v1alpha1.TrainingJob) history.Record {
	return history.Of(clusterName, job, history.Options{
		UserKeys: []string{userKey}, GPUKind: func(*v1alpha1.TrainingJob) string { return kindOf(0) },
	})
}

// put a rank on its node, ready if it runs; an empty state removes it.
func (c *cluster) put(job *v1alpha1.TrainingJob, index int, state placement.RankState) {
	node := c.at[job.UID][index]
	ref := rankRef{placement.Job{UID: job.UID, Namespace: job.Namespace, Name: job.Name}, int32(index)}
	c.changed[node] = true
	if state == "" {
		delete(c.pods[node], ref)
		return
	}
	c.pods[node][ref] = placement.Rank{
		Role: "worker", Index: ref.index, GPUs: 1, State: state, Ready: state == placement.Running,
	}
}

// fail the probes of a running rank, after that many restarts.
func (c *cluster) fail(job *v1alpha1.TrainingJob, index, restarts int) {
	c.put(job, index, placement.Running)
	ref := rankRef{placement.Job{UID: job.UID, Namespace: job.Namespace, Name: job.Name}, int32(index)}
	on := c.pods[c.at[job.UID][index]]
	rank := on[ref]
	rank.Ready, rank.Restarts = false, int32(restarts)
	on[ref] = rank
}

// publish the changed nodes and wake all followers.
func (c *cluster) publish() {
	for n := range c.changed {
		on := &placement.OnNode{Exists: true, Node: c.nodes[n].Node}
		for ref, rank := range c.pods[n] {
			on.Pods = append(on.Pods, placement.Pod{Job: ref.job, Rank: rank})
		}
		slices.SortFunc(on.Pods, func(a, b placement.Pod) int {
			return cmp.Or(strings.Compare(a.Job.Namespace, b.Job.Namespace), strings.Compare(a.Job.Name, b.Job.Name),
				cmp.Compare(a.Index, b.Index))
		})
		c.nodes[n] = on
	}
	clear(c.changed)
	for follower := range c.followers {
		select {
		case follower <- live.Event{}:
		default: // already awake
		}
	}
	for follower := range c.rankFollowers {
		select {
		case follower <- struct{}{}:
		default:
		}
	}
}
