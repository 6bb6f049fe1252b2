package render

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

func at(n int, addresses ...string) NamedRank {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprint("bert-worker-", n), Namespace: "default", UID: types.UID(fmt.Sprint("uid-", n)),
	}, Spec: corev1.PodSpec{NodeName: "node"}}
	for _, a := range addresses {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: a})
	}
	return NamedRank{Number: n, Pod: pod}
}

// TestEachFamilyHasItsNames: an EndpointSlice has addresses of one family.
func TestEachFamilyHasItsNames(t *testing.T) {
	got := Names(jobtest.New(3), 1, []NamedRank{
		at(0, "10.0.0.1", "fd00::1"), at(1, "fd00::2"), at(2, "10.0.0.3"),
	})
	want := map[string][]string{"bert-ipv4-0": {"10.0.0.1", "10.0.0.3"}, "bert-ipv6-0": {"fd00::1", "fd00::2"}}
	if len(got) != len(want) {
		t.Fatalf("got %d slices", len(got))
	}
	for _, slice := range got {
		var addresses []string
		for _, e := range slice.Endpoints {
			addresses = append(addresses, e.Addresses...)
		}
		if fmt.Sprint(addresses) != fmt.Sprint(want[slice.Name]) {
			t.Errorf("%s has %v", slice.Name, addresses)
		}
	}
}

// TestLargeGangHasSeveralSlices: where a rank goes, the others stay where they are.
func TestLargeGangHasSeveralSlices(t *testing.T) {
	var ranks []NamedRank
	for n := range 2*MaxEndpoints + 1 {
		if n != 7 {
			ranks = append(ranks, at(n, "10.0.0.1"))
		}
	}
	got := Names(jobtest.New(2*MaxEndpoints+1), 1, ranks)
	if len(got) != 3 {
		t.Fatalf("got %d slices", len(got))
	}
	for i, want := range []int{MaxEndpoints - 1, MaxEndpoints, 1} {
		slice := got[i]
		first := fmt.Sprint("bert-worker-", i*MaxEndpoints)
		if slice.Name != fmt.Sprint("bert-ipv4-", i) || len(slice.Endpoints) != want ||
			*slice.Endpoints[0].Hostname != first {
			t.Errorf("%s has %d endpoints from %s", slice.Name, len(slice.Endpoints), *slice.Endpoints[0].Hostname)
		}
	}
}

func TestNamesWithoutRanks(t *testing.T) {
	if got := Names(jobtest.New(1), 1, nil); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}
