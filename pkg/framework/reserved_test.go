package framework_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// TestReserved: what differs between ranks is reserved, whichever rank gets it, and a default is not.
func TestReserved(t *testing.T) {
	f := framework.Framework{
		Roles: []string{"Chief", "Worker"},
		Env: func(g framework.Gang, r framework.Rank) []corev1.EnvVar {
			env := []corev1.EnvVar{{Name: "RANK"}, {Name: "PYTHONUNBUFFERED"}}
			if r.Role == "Worker" && r.Index == 1 && r.GPUs > 0 && g.Size() == 4 {
				env = append(env, corev1.EnvVar{Name: "LAST"})
			}
			return env
		},
	}
	if diff := cmp.Diff([]string{"LAST", "RANK"}, f.Reserved()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := (framework.Framework{}).Reserved(); got != nil {
		t.Errorf("an unknown framework reserves %v", got)
	}
	for _, f := range framework.All() {
		if len(f.Reserved()) == 0 {
			t.Errorf("%s reserves nothing", f.Name)
		}
	}
}
