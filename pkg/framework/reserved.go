package framework

import "slices"

// defaults are variables of which the operator gives only a default: each is right in all ranks or in none,
// so a job may set its own.
var defaults = []string{
	"PYTHONUNBUFFERED",
	"PET_NPROC_PER_NODE", "PET_MAX_RESTARTS", "PET_RDZV_ID", "LOCAL_RANK",
	"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE",
	"DMLC_WORKER_CONNECT_RETRY", "DMLC_USE_KUBERNETES",
	"I_MPI_PERHOST", "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
	"OMPI_MCA_orte_keep_fqdn_hostnames", "PRTE_MCA_prte_keep_fqdn_hostnames",
}

// Reserved lists, sorted, the variables with a rank's number and the addresses of the others: a job must not
// set them. elastic selects those of a job with spec.elasticPolicy. They are the variables that Env sets in a
// gang with two ranks of each role and two GPUs each, for every MPI implementation, except defaults. The
// caller must not change the list.
func (f Framework) Reserved(elastic bool) []string {
	if names, known := f.reserved[elastic]; known {
		return names
	}
	if f.Env == nil {
		return nil
	}
	var names []string
	for _, implementation := range []string{"OpenMPI", "Intel", "MPICH"} {
		gang := f.sample()
		gang.MPI.Implementation = implementation
		if elastic {
			gang.Elastic = &Elastic{MinReplicas: 1}
		}
		for rank := range gang.Ranks() {
			for _, e := range f.Env(gang, rank) {
				if !slices.Contains(defaults, e.Name) {
					names = append(names, e.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// sample is a gang in which every variable has something to say.
func (f Framework) sample() Gang {
	roles := f.Roles
	if len(roles) == 0 {
		roles = []string{"Master", "Worker"}
	}
	gang := Gang{
		Job: "job", GraceSeconds: 30, FilesDir: "/files", MPI: MPI{Slots: 2, SSHConfig: "/files/config"},
		Host: func(role string, _ int32) string { return role },
	}
	for _, name := range roles {
		gang.Roles = append(gang.Roles, Role{Name: name, Replicas: 2, GPUs: 2, Port: f.DefaultPort})
	}
	return gang
}
