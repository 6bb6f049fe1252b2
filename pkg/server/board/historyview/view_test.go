package historyview

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment/fragmenttest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/goldentest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// evil is a name that the API server rejects, and that pages must escape.
const evil = `<script>alert("x")</script>'&`

func job(name string, edit ...func(*history.Job)) history.Job {
	j := history.Job{
		Key: history.Key{Cluster: "main", UID: types.UID("uid-" + name)}, Namespace: "team-a", Name: name,
		User: "ann", Queue: "research", Phase: v1alpha1.PhaseSucceeded, GPUs: 16, GPUKind: "H100", Attempt: 2,
		Preemptions: 1, Created: noon,
	}
	for _, e := range edit {
		e(&j)
	}
	return j
}

func view() *View {
	return &View{
		Cluster: "main", Next: "token", Query: Query{User: "ann"}, Links: Links{
			Job:    func(namespace, name string) string { return "/jobs/" + namespace + "/" + name },
			Record: func(uid string) string { return "/history/" + uid },
		},
		Namespaces: func() []string { return []string{evil, "team-a"} },
		Jobs: []history.Job{
			job("completed", func(j *history.Job) { j.Completed = new(noon.Add(time.Hour)) }),
			job("running", func(j *history.Job) { j.Phase = v1alpha1.PhaseRunning }),
			job("deleted", func(j *history.Job) { j.Deleted = new(noon.Add(2 * time.Hour)) }),
			job("found-gone", func(j *history.Job) { j.DeletedBefore = new(noon.Add(3 * time.Hour)) }),
			job("unseen", func(j *history.Job) {
				j.Phase, j.GPUs, j.GPUKind, j.Attempt, j.Queue, j.User = "", 0, "", 0, "", ""
			}),
			job("evil", func(j *history.Job) {
				j.Name, j.Namespace, j.User, j.Queue, j.Reason, j.Message = evil, evil, evil, evil, evil, evil
			}),
		},
	}
}

func TestPage(t *testing.T) {
	v := view()
	none := &View{Cluster: "main", Links: v.Links}
	unmatched := &View{Cluster: "main", Links: v.Links, Query: Query{Name: "bert", Continue: "token"}}
	for name, v := range map[string]*View{"jobs": v, "none": none, "unmatched": unmatched} {
		all, err := v.Fragments()
		if err != nil {
			t.Fatal(err)
		}
		fragmenttest.Check(t, all)
		body, err := v.Body(all)
		if err != nil {
			t.Fatal(err)
		}
		goldentest.Compare(t, name, string(body), "")
	}
}

// TestUnknown: unknown values are not shown as zero.
func TestUnknown(t *testing.T) {
	v := view()
	v.Jobs = v.Jobs[4:5]
	all, err := v.Fragments()
	if err != nil {
		t.Fatal(err)
	}
	html := string(all[0].HTML)
	if strings.Contains(html, ">0<") || strings.Count(html, `title="unknown"`) != 4 {
		t.Error(html)
	}
}

// TestNoRecords: without records a deleted job has no link.
func TestNoRecords(t *testing.T) {
	v := view()
	v.Jobs, v.Links.Record = v.Jobs[2:3], func(string) string { return "" }
	all, err := v.Fragments()
	if err != nil {
		t.Fatal(err)
	}
	html := string(all[0].HTML)
	if strings.Contains(html, "href") || !strings.Contains(html, ">deleted</span>") {
		t.Error(html)
	}
}
