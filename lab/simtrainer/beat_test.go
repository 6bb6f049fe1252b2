package simtrainer

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

func TestBeatOf(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		spec   string
		inputs []input
		until  float64
		number int32
		want   string
	}{
		"starting": {"it has finished no step", "steps=900 rate=2 start=5m", nil, 200, 0, "idle 200 R Starting"},
		"training": {
			"idle is a part of a step", "steps=900 rate=2", nil, 10.25, 3,
			"step 18 idle 0.25 R Training, each 0.5, first 1.5, busy 0.25",
		},
		"slow": {
			"it computes longer than the others", "steps=900 rate=2 slow-rank=3", nil, 11, 3,
			"step 10 idle 0 R Training, each 1, first 1.5, busy 0.95",
		},
		"beside a slow one": {
			"it waits", "steps=900 rate=2 slow-rank=3", nil, 11, 2,
			"step 10 idle 0 R Training, each 1, first 1.5, busy 0.25",
		},
		"stalled": {
			"all have finished the same step", "steps=900 rate=2 stall-after=10", nil, 600, 0,
			"step 10 idle 594 R Training, each 0.5, first 1.5, busy 0.25",
		},
		"stalled rank": {
			"it is behind", "steps=900 rate=2 stall-after=10 stall-rank=2", nil, 600, 2,
			"step 9 idle 594 S Training, each 0.5, first 1.5, busy 0.25",
		},
		"waits for a stalled rank": {
			"it has finished the step", "steps=900 rate=2 stall-after=10 stall-rank=2", nil, 600, 1,
			"step 10 idle 594 R Training, each 0.5, first 1.5, busy 0.25",
		},
		"stalled rank, before": {
			"it makes steps like the others", "steps=900 rate=2 stall-after=10 stall-rank=2", nil, 3, 2,
			"step 4 idle 0 R Training, each 0.5, first 1.5, busy 0.25",
		},
		"evaluating": {
			"idle begins with the phase", "steps=900 rate=2 phases=Evaluating@4:5m", nil, 63, 0,
			"step 4 idle 60 R Evaluating, each 0.5, first 1.5, busy 0.25",
		},
		"after a pause": {
			"a pause without a name counts", "steps=900 rate=2 phases=Training@4:5m", nil, 304, 0,
			"step 6 idle 0 R Training, each 0.5, first 1.5, busy 0.25, pause 300",
		},
		"dead node of rank 0": {
			"idle grows", "steps=900 rate=2", []input{withoutSave(10, Trainer.Freeze)}, 100, 1,
			"step 18 idle 90 R Training, each 0.5, first 1.5, busy 0.25",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec, err := ParseSpec(tc.spec)
			if err != nil {
				t.Fatal(err)
			}
			trainer, _ := simulate(NewTrainer(Config{Spec: spec, Attempt: 1}, begin), tc.inputs, tc.until, time.Hour)
			b := beatOf(trainer, at(tc.until), tc.number)
			got := fmt.Sprintf("idle %g %s %s", b.IdleSeconds, b.State, b.Phase)
			if b.Step != nil {
				got = fmt.Sprintf("step %d %s, each %g, first %g, busy %g", *b.Step, got, b.StepSeconds,
					b.FirstStepSeconds, b.BusySeconds)
			}
			if b.LongestPauseSeconds > 0 {
				got += fmt.Sprintf(", pause %g", b.LongestPauseSeconds)
			}
			if got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
			if _, err := checkpoint.Encode(b); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPhasesOfBeatsAreNotReported: the operator takes them in beats alone.
func TestPhasesOfBeatsAreNotReported(t *testing.T) {
	spec, err := ParseSpec("steps=900 rate=2 phases=Evaluating@4:5m")
	if err != nil {
		t.Fatal(err)
	}
	trainer, _ := NewTrainer(Config{Spec: spec, Attempt: 1}, begin).Advance(at(60))
	if trainer.Phase != checkpoint.PhaseEvaluating {
		t.Fatalf("phase %s", trainer.Phase)
	}
	report := reportOf(trainer, at(60), Rank{Attempt: 1}, checkpointView{}, "")
	if _, err := checkpoint.Encode(report); err != nil {
		t.Error(err)
	}
	trainer.Exit = &Exit{At: at(60), Reason: checkpoint.ExitExited}
	if _, err := checkpoint.Encode(leaderTerminationOf(trainer, 1, checkpointView{})); err != nil {
		t.Error(err)
	}
}

// TestRanksPostBeats with the token of their own pod, until they end. A silent one posts none.
func TestRanksPostBeats(t *testing.T) {
	beats := make(chan string)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		b, err := checkpoint.ParseBeat(body)
		if err != nil || b.Step == nil || r.URL.Path != "/v1/beats" {
			t.Errorf("%s %s: %v", r.URL.Path, body, err)
		}
		select {
		case beats <- r.Header.Get("Authorization"):
		case <-r.Context().Done():
		}
		io.WriteString(w, `{"minIntervalSeconds":30}`)
	}))
	defer server.Close()
	api := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		SubResourceCreate: func(
			_ context.Context, _ client.Client, _ string, _, request client.Object,
			_ ...client.SubResourceCreateOption,
		) error {
			r := request.(*authenticationv1.TokenRequest)
			r.Status.Token = "token-of-" + r.Spec.BoundObjectRef.Name
			r.Status.ExpirationTimestamp = metav1.NewTime(begin.Add(365 * 24 * time.Hour))
			return nil
		},
	}).Build()
	state, err := OpenStateFile(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(at(60))
	s := newSimulator(api, api, state, clock, nil)
	defer s.Close()
	spec, err := ParseSpec("steps=1000000 rate=2 silent-rank=2")
	if err != nil {
		t.Fatal(err)
	}
	trainer, _ := NewTrainer(Config{Spec: spec, Attempt: 1}, begin).Advance(at(60))
	s.leaders[types.NamespacedName{Name: "bert-worker-0"}] = &leader{rank: Rank{Gang: "bert"}, trainer: trainer}
	target := ReportTarget{
		URL: server.URL + "/v1/reports", Audience: "reports", ServiceAccount: "default",
		CA: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})),
	}
	podOf := func(number int) *corev1.Pod {
		name := fmt.Sprintf("bert-worker-%d", number)
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	}
	for number := range 3 {
		rank := Rank{Number: int32(number), Gang: "bert", Attempt: 1, Beats: true, ReportTo: target}
		for range 2 { // as two reconciles would
			s.startBeating(t.Context(), podOf(number), rank)
		}
	}
	// until counts beats by the pod of their token, until each of these pods has posted two more.
	until := func(pods ...int) map[string]int {
		got := map[string]int{}
		for {
			missing := false
			for _, number := range pods {
				missing = missing || got["Bearer token-of-"+podOf(number).Name] < 2
			}
			if !missing {
				return got
			}
			select {
			case token := <-beats:
				got[token]++
			case <-time.After(time.Millisecond): // all wait for the clock, or a beat is on its way
				clock.Step(time.Second)
			}
		}
	}
	if got := until(0, 1); len(got) != 2 {
		t.Errorf("a silent rank posts beats: %v", got)
	}
	s.stopBeating(client.ObjectKeyFromObject(podOf(0)), podOf(0).UID)
	if len(s.beating) != 3 {
		t.Error("a pod that is still there stopped")
	}
	s.stopBeating(client.ObjectKeyFromObject(podOf(0)), "its successor")
	last := until(1)["Bearer token-of-bert-worker-0"] // one may have been on its way
	if again := until(1)["Bearer token-of-bert-worker-0"]; last > 1 || again > 0 {
		t.Errorf("a rank that ended has posted %d and %d beats", last, again)
	}
}
