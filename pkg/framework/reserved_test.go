package framework_test

import (
	"slices"
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
	if diff := cmp.Diff([]string{"LAST", "RANK"}, f.Reserved(false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := (framework.Framework{}).Reserved(false); got != nil {
		t.Errorf("an unknown framework reserves %v", got)
	}
	for _, f := range framework.All() {
		if len(f.Reserved(f.Elastic)) == 0 {
			t.Errorf("%s reserves nothing", f.Name)
		}
	}
}

// TestReservedOfEveryForm: elastic pytorch gets other variables, and each MPI has its own.
func TestReservedOfEveryForm(t *testing.T) {
	cases := map[string]struct {
		framework string
		elastic   bool
		has, not  string
	}{
		"pytorch":         {framework: "pytorch", has: "RANK", not: "PET_RDZV_ENDPOINT"},
		"elastic pytorch": {framework: "pytorch", elastic: true, has: "PET_RDZV_CONF", not: "RANK"},
		"restarts":        {framework: "pytorch", elastic: true, has: "PET_NNODES", not: "PET_MAX_RESTARTS"},
		"shutdown":        {framework: "pytorch", has: "RANK", not: "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"},
		"Open MPI":        {framework: "mpi", has: "OMPI_MCA_plm_rsh_args", not: "OMPI_ALLOW_RUN_AS_ROOT"},
		"Intel MPI":       {framework: "mpi", has: "I_MPI_HYDRA_HOST_FILE", not: "I_MPI_PERHOST"},
		"MPICH":           {framework: "mpi", has: "HYDRA_HOST_FILE"},
		"JAX":             {framework: "jax", has: "JAX_PROCESS_ID", not: "PYTHONUNBUFFERED"},
	}
	for name, c := range cases {
		f, _ := framework.Get(c.framework)
		reserved := f.Reserved(c.elastic)
		if !slices.Contains(reserved, c.has) || slices.Contains(reserved, c.not) {
			t.Errorf("%s reserves %v: want %s, not %s", name, reserved, c.has, c.not)
		}
	}
}
