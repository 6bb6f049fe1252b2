package queueview

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/queues"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment/fragmenttest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/goldentest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// evil is a name that the API server rejects, and that pages must escape.
const evil = `<script>alert("x")</script>'&`

func member(
	namespace, name string, phase v1alpha1.Phase, gpus int64, change ...func(*queues.Job),
) queues.Job {
	j := queues.Job{
		Namespace: namespace, Name: name, Phase: phase, GPUs: gpus, Priority: new(int32(0)), Created: noon,
		GPUsUnknown: phase == "",
	}
	for _, do := range change {
		do(&j)
	}
	return j
}

func high(j *queues.Job) { j.PriorityClass, j.Priority = "high", new(int32(1000)) }

const gpu = "nvidia.com/gpu"

// schedulers with a queue of each kind.
func schedulers() queues.List {
	waits := []queues.Job{
		member("team-b", "gpt", v1alpha1.PhaseQueued, 64, high,
			func(j *queues.Job) {
				j.Reason, j.StartUnknown = "NotEnoughQuota", v1alpha1.StartNoEndKnown
				j.Reservation = v1alpha1.ReservationKept
			}),
		member("team-a", "resnet", v1alpha1.PhaseQueued, 8,
			func(j *queues.Job) { j.Start = new(noon.Add(time.Hour)) }),
		member("team-a", "fresh", "", 0),
		member("team-a", "classless", v1alpha1.PhaseQueued, 1, func(j *queues.Job) {
			j.PriorityClass, j.Priority = "deleted", nil
		}),
	}
	runs := []queues.Job{
		member("team-a", "llama-70b", v1alpha1.PhaseRunning, 16, high,
			func(j *queues.Job) { j.Backfill = v1alpha1.BackfillIsLent }),
		member("team-a", evil, v1alpha1.PhaseStarting, 0),
	}
	return queues.List{Items: []queues.Queue{{
		Scheduler: v1alpha1.SchedulerKueue, Kind: "ClusterQueue", Name: "research", Parent: "all", State: "Active",
		Resources: []queues.Resource{
			{Name: "memory", Flavor: "h100", Guaranteed: new("1Ti"), Used: new("512Gi"), Borrowed: new("0"),
				Unlimited: true},
			{Name: gpu, Flavor: "h100", Guaranteed: new("16"), Limit: new("32"), Used: new("24"),
				Borrowed: new("8"), Free: new("8")},
			{Name: gpu, Flavor: "a100", Guaranteed: new("8"), Limit: new("8")},
		},
		Running: runs, Waiting: waits, RunningGPUs: 16, WaitingGPUs: 73,
	}, {
		Scheduler: v1alpha1.SchedulerKueue, Kind: "LocalQueue", Namespace: "team-a", Name: "train",
		Parent: "research", State: "Inactive", StateReason: "its ClusterQueue is " + evil,
		Resources: []queues.Resource{{Name: gpu, Flavor: "h100", Used: new("16")}},
	}, {
		Scheduler: v1alpha1.SchedulerCoscheduling, Kind: "ElasticQuota", Namespace: "team-c", Name: "quota",
		Resources: []queues.Resource{
			{Name: "cpu", Guaranteed: new("100"), Limit: new("200"), Used: new("250"), Free: new("0")},
			{Name: gpu, Guaranteed: new("0"), Limit: new("0"), Used: new("0"), Free: new("0")},
		},
	}, {
		Scheduler: v1alpha1.SchedulerVolcano, Kind: "Queue", Name: "root", State: "Open",
	}, {
		Scheduler: v1alpha1.SchedulerVolcano, Kind: "Queue", Name: evil, Parent: "root", State: "Closed",
		StateReason: "an admin has closed the queue: it admits nothing",
		Resources: []queues.Resource{{
			Name: gpu, Limit: new("32"), Deserved: new("24"), Guaranteed: new("8"), Used: new("4"), Free: new("28"),
		}},
		Waiting: waits[:1], WaitingGPUs: 64,
	}, {
		Kind: "ResourceQuota", Namespace: "team-a", Name: "compute",
		Resources: []queues.Resource{
			{Name: gpu, Limit: new("16"), Used: new("16"), Free: new("0")}, {Name: "cpu", Limit: new("64")},
			{Name: "example.com/dongles"},
		},
		Running: runs[:1], RunningGPUs: 16,
	}}, Unreadable: []queues.Unreadable{{
		Kind: "ClusterQueue", Detail: `clusterqueues.kueue.x-k8s.io is forbidden: User "jane" cannot list ` + evil,
		Remedy: "ask an admin for the right",
	}}}
}

// crowded is one queue with many jobs.
func crowded() queues.List {
	q := queues.Queue{Scheduler: v1alpha1.SchedulerVolcano, Kind: "Queue", Name: "default", State: "Open"}
	for i := range 1000 {
		q.Waiting = append(q.Waiting, member("team-a", fmt.Sprintf("job-%04d", i), v1alpha1.PhaseQueued, 8))
		q.WaitingGPUs += 8
	}
	for i := range maxJobs + 1 {
		q.Running = append(q.Running, member("team-b", fmt.Sprintf("run-%04d", i), v1alpha1.PhaseRunning, 1))
		q.RunningGPUs++
	}
	return queues.List{Items: []queues.Queue{q}}
}

func rendered(t *testing.T, v View) ([]fragment.Fragment, string) {
	t.Helper()
	v.Links.Job = func(namespace, name string) string {
		return "/board/clusters/prod/namespaces/" + url.PathEscape(namespace) + "/jobs/" + url.PathEscape(name)
	}
	all, err := v.Fragments()
	if err != nil {
		t.Fatal(err)
	}
	body, err := v.Body(all)
	if err != nil {
		t.Fatal(err)
	}
	return all, string(body)
}

// TestPages compares pages with golden files.
func TestPages(t *testing.T) {
	for name, v := range map[string]View{
		"schedulers": {List: schedulers()},
		"filtered":   {List: schedulers(), Query: Query{Scheduler: "volcano", Text: "ROOT", Namespace: "team-a"}},
		"busy":       {List: schedulers(), Query: Query{Busy: true}},
		"no-match":   {List: schedulers(), Query: Query{Text: evil, Scheduler: "none"}},
		"nothing":    {},
		"crowded":    {List: crowded()},
	} {
		v.Cluster = "prod"
		if name != "nothing" {
			v.Namespaces = func() []string { return []string{evil, "team-b"} }
		}
		all, body := rendered(t, v)
		fragmenttest.Check(t, all)
		goldentest.Compare(t, name, body, CSS)
		for _, f := range all {
			start, _, _ := strings.Cut(string(f.Element()), ">") // jobs are in their queues
			if strings.Count(body, start+">") != 1 {
				t.Errorf("%s: fragment %s is not in the page: there is no container %s", name, f.ID, f.In)
			}
		}
		if strings.Contains(body, "<script") {
			t.Errorf("%s: a name is not text", name)
		}
	}
}

// TestQuotas: known amounts are drawn, and unknown ones are not.
func TestQuotas(t *testing.T) {
	for name, of := range map[string]struct {
		kind string
		of   queues.Resource
		want quota
		bar  *bar
	}{
		"all known": {
			"ClusterQueue",
			queues.Resource{
				Limit: new("32"), Guaranteed: new("16"), Used: new("24"), Borrowed: new("8"), Free: new("8"),
			},
			quota{Used: "24", Limit: "32", Promises: []amount{{"nominal", "16"}, {"borrowed", "8"}, {"free", "8"}}},
			&bar{Known: true, Own: "50.00%", Borrowed: "25.00%", BorrowedAt: "50.00%", End: "100.00%",
				Marks: []mark{{"guaranteed", "50.00%"}}},
		},
		"no limit": {
			"Queue", queues.Resource{Unlimited: true, Used: new("4"), Deserved: new("8")},
			quota{Used: "4", Unlimited: true, Promises: []amount{{"deserved", "8"}}},
			&bar{Known: true, Open: true, Own: "40.00%", Marks: []mark{{"deserved", "80.00%"}}},
		},
		"unknown limit": {
			"LocalQueue", queues.Resource{Used: new("4")}, quota{Used: "4"},
			&bar{Known: true, Unsure: true, Own: "80.00%"},
		},
		"unknown use": {
			"ResourceQuota", queues.Resource{Limit: new("16")}, quota{Limit: "16"}, &bar{End: "100.00%"},
		},
		"all unknown": {"Queue", queues.Resource{}, quota{}, nil},
		"limit of zero": {
			"ElasticQuota", queues.Resource{Guaranteed: new("0"), Limit: new("0"), Used: new("0")},
			quota{Used: "0", Limit: "0", Promises: []amount{{"min", "0"}}}, nil,
		},
		"more than the limit": {
			"ElasticQuota", queues.Resource{Limit: new("200"), Used: new("250")},
			quota{Used: "250", Limit: "200", Over: true},
			&bar{Known: true, Own: "100.00%", End: "80.00%"},
		},
		"in units": {
			"Queue", queues.Resource{Limit: new("1Ti"), Used: new("512Gi")}, quota{Used: "512Gi", Limit: "1Ti"},
			&bar{Known: true, Own: "50.00%", End: "100.00%"},
		},
	} {
		got := quotaOf(of.kind, &of.of)
		if diff := diffOf(of.bar, got.Bar); diff != "" {
			t.Errorf("%s: the bar %s", name, diff)
		}
		got.Bar = nil
		if diff := diffOf(of.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func diffOf(want, got any) string {
	if w, g := fmt.Sprintf("%+v", deref(want)), fmt.Sprintf("%+v", deref(got)); w != g {
		return "is " + g + ", want " + w
	}
	return ""
}

func deref(v any) any {
	if b, is := v.(*bar); is && b != nil {
		return *b
	}
	return v
}

// TestOneQueueChanges: an update has only its fragments.
func TestOneQueueChanges(t *testing.T) {
	before, _ := rendered(t, View{Cluster: "prod", List: schedulers()})
	list := schedulers()
	list.Items[0].Waiting = list.Items[0].Waiting[1:]
	after, _ := rendered(t, View{Cluster: "prod", List: list})
	patch, _ := fragment.Diff(fragment.StateOf(before), after)
	if len(patch.Set) != 1 || len(patch.Order)+len(patch.Move) != 0 {
		t.Errorf("%d elements are sent, and the order of %d containers", len(patch.Set),
			len(patch.Order)+len(patch.Move))
	}
}

// TestQueries: the URL of a query parses to the same query, and errors name the parameter.
func TestQueries(t *testing.T) {
	for _, q := range []Query{{}, {Namespace: "a", Scheduler: "kueue", Text: "x y&z", Busy: true}} {
		values, err := url.ParseQuery(strings.TrimPrefix(q.URL(), "?"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseQuery(values); err != nil || got != q {
			t.Errorf("%+v becomes %+v, %v", q, got, err)
		}
	}
	for query, parameter := range map[string]string{
		"busy=yes": "query.busy", "q=a&q=b": "query.q", "x=1": "query.x",
		"q=" + strings.Repeat("g", 254): "query.q",
	} {
		values, _ := url.ParseQuery(query)
		if _, err := ParseQuery(values); err == nil || !strings.Contains(fmt.Sprintf("%+v", err), parameter) {
			t.Errorf("%s: %+v", query, err)
		}
	}
}
