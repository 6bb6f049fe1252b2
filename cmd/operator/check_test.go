package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/pkg/config"
)

// leaseReader answers each Get of a lease with the next of its states, the last of them again and again, and
// records the lists.
type leaseReader struct {
	client.Reader
	states []leaseState
	lists  []string
	broken error
}

type leaseState struct {
	holder, version string
	err             error
}

func (r *leaseReader) Get(
	_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption,
) error {
	state := r.states[0]
	if len(r.states) > 1 {
		r.states = r.states[1:]
	}
	lease := into.(*coordinationv1.Lease)
	lease.ResourceVersion, lease.Spec.HolderIdentity = state.version, &state.holder
	return state.err
}

func (r *leaseReader) List(_ context.Context, _ client.ObjectList, o ...client.ListOption) error {
	options := client.ListOptions{}
	options.ApplyOptions(o)
	r.lists = append(r.lists, options.Namespace)
	return r.broken
}

// ticks is always ready, for so many times; then the deadline has passed.
func ticks(t *testing.T, n int) (context.Context, <-chan time.Time) {
	ctx, cancel := context.WithCancel(t.Context())
	c := make(chan time.Time)
	go func() {
		defer cancel()
		for range n {
			select {
			case c <- time.Time{}:
			case <-t.Context().Done():
				return
			}
		}
	}()
	return ctx, c
}

func TestCheck(t *testing.T) {
	absent := leaseState{err: apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, leaseName)}
	for name, tc := range map[string]struct {
		reason string
		states []leaseState
		broken error
		says   string
		fails  bool
	}{
		"a leader": {"it renews its lease", []leaseState{{holder: "a", version: "1"}, {holder: "a", version: "2"}},
			nil, "a leads.", false},
		"a leader that comes": {"the first makes the lease", []leaseState{
			absent, {holder: "a", version: "1"}, {holder: "a", version: "2"}}, nil, "a leads.", false},
		"a change of leaders": {"the second counts when it renews", []leaseState{
			{holder: "a", version: "1"}, {holder: "b", version: "2"}, {holder: "b", version: "3"}},
			nil, "b leads.", false},
		"none ever":        {"", []leaseState{absent}, nil, "it was never taken", true},
		"one that died":    {"", []leaseState{{holder: "a", version: "1"}}, nil, "a does not renew it", true},
		"one that stopped": {"", []leaseState{{version: "1"}, {version: "2"}}, nil, "it has no holder", true},
		"no right":         {"", []leaseState{{err: errors.New("forbidden")}}, nil, "forbidden", true},
		"no CRD":           {"", []leaseState{absent}, errors.New("no matches for kind"), "no matches", true},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			ctx, tick := ticks(t, 5)
			r := &leaseReader{states: tc.states, broken: tc.broken}
			err := checkWith(ctx, r, config.Default(), tick, &out)
			if err != nil {
				out.WriteString(err.Error())
			}
			if (err != nil) != tc.fails || !strings.Contains(out.String(), tc.says) {
				t.Errorf("%s: want %q, fails %t, got %q", tc.reason, tc.says, tc.fails, out.String())
			}
		})
	}
}

// TestCheckOfNamespaces: an operator without rights elsewhere is asked about its own namespaces.
func TestCheckOfNamespaces(t *testing.T) {
	c := config.Default()
	c.WatchNamespaces, c.LeaderElection.Enabled = []string{"team-a", "team-b"}, false
	r, out := &leaseReader{}, bytes.Buffer{}
	err := checkWith(t.Context(), r, c, nil, &out)
	if err != nil || strings.Join(r.lists, " ") != "team-a team-b" ||
		!strings.Contains(out.String(), "cannot detect whether an operator runs") {
		t.Errorf("listed %q, error %v, printed %q", r.lists, err, out.String())
	}
}
