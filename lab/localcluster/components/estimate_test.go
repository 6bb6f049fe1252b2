package components

import (
	"testing"
	"time"
)

func TestEveryComponentHasABuildTime(t *testing.T) {
	times := coldBuildTimes()
	for _, c := range components() {
		if times[c.name] <= 0 {
			t.Errorf("%s has no build time", c.name)
		}
		delete(times, c.name)
	}
	if len(times) > 0 {
		t.Errorf("there are no such components: %v", times)
	}
}

func TestTimeLeft(t *testing.T) {
	times := coldBuildTimes()
	etcd, kubernetes, kwok := times[Etcd], times[Kubernetes], times[KWOK]
	cases := map[string]struct {
		reason  string
		run     run
		elapsed time.Duration
		want    time.Duration
	}{
		"at the start": {
			"two processors are the reference machine",
			run{processors: 2, current: Etcd, waiting: []string{Kubernetes, KWOK}}, 0, etcd + kubernetes + kwok,
		},
		"on eight processors": {
			"a quarter, until something is measured",
			run{processors: 8, current: Etcd, waiting: []string{Kubernetes, KWOK}}, 0, (etcd + kubernetes + kwok) / 4,
		},
		"on one processor": {
			"twice as long",
			run{processors: 1, current: KWOK}, 0, 2 * kwok,
		},
		"within the first": {
			"the time that it has taken counts",
			run{processors: 2, current: Etcd, waiting: []string{KWOK}}, 10 * time.Second, etcd - 10*time.Second + kwok,
		},
		"the first is built": {
			"it took twice its time, whatever the number of processors says",
			run{
				processors: 64, built: []builtComponent{{Etcd, 2 * etcd}}, current: Kubernetes, waiting: []string{KWOK},
			}, 0, 2 * (kubernetes + kwok),
		},
		"two are built": {
			"each counts by its size",
			run{
				processors: 2, built: []builtComponent{{Etcd, 2 * etcd}, {KWOK, kwok}}, current: Kubernetes,
			}, 0, scaled(kubernetes, (2*etcd+kwok).Seconds()/(etcd+kwok).Seconds()),
		},
		"longer than expected": {
			"it may be done at any moment, and takes nothing from what waits",
			run{processors: 2, current: Etcd, waiting: []string{KWOK}}, 10 * time.Minute, kwok,
		},
		"the last, longer than expected": {
			"never negative",
			run{processors: 2, current: KWOK}, 10 * time.Minute, 0,
		},
		"built by another process": {
			"it says nothing about this machine's speed: it is not among the built",
			run{processors: 2, current: Kubernetes, total: 2}, 0, kubernetes,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.run.timeLeft(c.elapsed); (got - c.want).Abs() > time.Millisecond {
				t.Errorf("got %s, want %s: %s", got, c.want, c.reason)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	cases := map[string]struct {
		processors int
		current    string
		waiting    []string
		total      int
		elapsed    time.Duration
	}{
		"1 of 4, about 6 minutes left":    {2, Etcd, []string{Kubernetes, KWOK, Volcano}, 4, 0},
		"2 of 4, about 5 minutes left":    {2, Kubernetes, []string{KWOK, Volcano}, 4, time.Minute},
		"2 of 2, about 1 minute left":     {2, Volcano, nil, 2, 80 * time.Second},
		"2 of 2, less than a minute left": {2, KWOK, nil, 2, 0},
		"1 of 1, less than a minute left": {2, Kubelet, nil, 1, time.Hour},
		"1 of 2, about 1 minute left":     {8, Kubernetes, []string{Kueue}, 2, 0},
		"1 of 2, about 12 minutes left":   {1, Kubernetes, []string{Kueue}, 2, 0},
	}
	for want, c := range cases {
		r := run{processors: c.processors, current: c.current, waiting: c.waiting, total: c.total}
		if got := r.describe(c.elapsed); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
