package recorder

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// TestJoin: what is known of an entry after another version was seen. The message identifies a record.
func TestJoin(t *testing.T) {
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	is := func(version, message string, change ...func(*entry)) *entry {
		e := &entry{since: at}
		e.record.Job = history.Job{
			Key: history.Key{UID: "a"}, ResourceVersion: version, Message: message, Created: at,
		}
		for _, c := range change {
			c(e)
		}
		return e
	}
	gone := func(e *entry) { e.gone = true }
	reread := func(e *entry) { e.record, e.reread = history.Record{}, true }
	for name, tc := range map[string]struct {
		reason       string
		first, later *entry
		message      string
		reread, gone bool
	}{
		"two versions":           {"joined", is("1", "a"), is("2", "b"), "b", false, false},
		"after one given up":     {"the cache has both", is("", "", reread), is("2", "b"), "", true, false},
		"one given up after":     {"the cache has both", is("1", "a"), is("", "", reread), "", true, false},
		"deleted":                {"joined", is("1", "a"), is("2", "b", gone), "b", false, true},
		"deleted after given up": {"no cache has it", is("", "", reread), is("2", "b", gone), "b", false, true},
		"put back before":        {"a deletion stays", is("2", "b", gone), is("", "", reread), "b", false, true},
	} {
		tc.first.join(tc.later)
		got := tc.first
		if got.record.Job.Message != tc.message || got.reread != tc.reread || got.gone != tc.gone {
			t.Errorf("%s: %s: message %q, reread %t, gone %t", name, tc.reason, got.record.Job.Message, got.reread,
				got.gone)
		}
	}
}

// TestShed: the recorder drops live jobs before deleted ones, and the bound holds.
func TestShed(t *testing.T) {
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	p := newPending(4000, newMetrics(), func() time.Time { return at })
	add := func(uid types.UID, isGone bool) {
		record := history.Record{Job: history.Job{
			Key: history.Key{UID: uid}, ResourceVersion: "1", Message: strings.Repeat("x", 1000), Created: at,
		}}
		if isGone {
			record = history.Merge(record, history.Gone(record.Job.Key, &at, nil))
		}
		p.add(record, version{uid: uid, gone: isGone})
	}
	for _, uid := range []types.UID{"live-1", "live-2", "live-3"} {
		add(uid, false)
	}
	for _, uid := range []types.UID{"gone-1", "gone-2", "gone-3", "gone-4"} {
		add(uid, true)
	}
	if p.len() != 7 {
		t.Fatalf("%d are pending", p.len())
	}
	got := map[types.UID]string{}
	for _, e := range p.take(10) {
		switch {
		case e.reread:
			got[e.uid] = "given up"
		case e.record.Job.Message == "" && e.record.Job.Deleted != nil:
			got[e.uid] = "deletion"
		default:
			got[e.uid] = "whole"
		}
	}
	want := map[types.UID]string{
		"live-1": "given up", "live-2": "given up", "live-3": "given up",
		"gone-1": "whole", "gone-2": "whole", "gone-3": "deletion", "gone-4": "deletion",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p.bytes != 0 {
		t.Errorf("%d bytes of nothing", p.bytes)
	}
}

// TestTurns: namespaces take turns, so that many changes of one do not delay others.
func TestTurns(t *testing.T) {
	p := newPending(1<<20, newMetrics(), time.Now)
	add := func(namespace string, uids ...string) {
		for _, uid := range uids {
			p.add(history.Record{}, version{uid: types.UID(uid), namespace: namespace})
		}
	}
	take := func(n int) (got []string) {
		for _, e := range p.take(n) {
			got = append(got, string(e.uid))
		}
		return got
	}
	add("a", "a1", "a2", "a3", "a4", "a5")
	add("b", "b1", "b2")
	if diff := cmp.Diff([]string{"a1", "b1", "a2"}, take(3)); diff != "" {
		t.Error(diff)
	}
	add("c", "c1")
	if diff := cmp.Diff([]string{"b2", "a3", "c1", "a4", "a5"}, take(10)); diff != "" {
		t.Error(diff)
	}
	add("a", "a6")
	if diff := cmp.Diff([]string{"a6"}, take(10)); diff != "" || p.bytes != 0 {
		t.Errorf("%d bytes, %s", p.bytes, diff)
	}
}

// TestPutBack: what could not be written waits behind the others, joined to what has come meanwhile.
func TestPutBack(t *testing.T) {
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	p := newPending(1<<20, newMetrics(), func() time.Time { return at })
	add := func(uid types.UID, rv string) {
		p.add(history.Record{Job: history.Job{
			Key: history.Key{UID: uid}, ResourceVersion: rv, Message: rv, Created: at,
		}}, version{uid: uid, resourceVersion: rv})
	}
	add("a", "1")
	add("b", "1")
	p.take(1)
	at = at.Add(time.Minute)
	add("a", "2")
	add("c", "1")
	p.putBack()
	if first := at.Add(-time.Minute); !p.oldest().Equal(first) {
		t.Errorf("the oldest is of %v", p.oldest())
	}
	var got []string
	for _, e := range p.take(10) {
		got = append(got, string(e.uid)+e.record.Job.Message)
	}
	if diff := cmp.Diff([]string{"b1", "c1", "a2"}, got); diff != "" {
		t.Error(diff)
	}
	p.written()
	if p.len() != 0 || !p.oldest().IsZero() {
		t.Errorf("%d are left since %v", p.len(), p.oldest())
	}
}
