package framework

import "iter"

// Gang is all ranks of a job. It is described by its roles, and ranks are computed on demand: rendering the
// pods of 10,000 ranks must not list 10,000 ranks for each of them.
type Gang struct {
	// Job is the job's name.
	Job string
	// Roles in the order of their ranks; at least one. Ranks are numbered through all of them, from 0.
	Roles []Role
	// Host returns the host name of a rank, as its peers resolve it.
	Host func(role string, index int32) string
	// Elastic is set where the gang may also train with some of its ranks.
	Elastic *Elastic
	// GraceSeconds between SIGTERM and SIGKILL for a job with checkpoints; 0 without them.
	GraceSeconds int32
	// FilesDir is the absolute path of the directory that holds Setup.Files in every container. It exists
	// only if the framework has Files.
	FilesDir string
	// MPI is what framework mpi must know besides.
	MPI MPI
}

// Elastic is how a gang trains whose ranks come and go.
type Elastic struct {
	// MinReplicas is the number of ranks that can train, from 1 to the size of the gang.
	MinReplicas int32
	// MaxRestarts is how often a rank restarts its processes in place, at least 0.
	MaxRestarts int32
}

// Role is a role of a gang: ranks with the same template.
type Role struct {
	// Name as in spec.replicaSpecs.
	Name string
	// Replicas is the number of ranks.
	Replicas int32
	// GPUs of the trainer of each rank; 0 for none.
	GPUs int64
	// Port on which a rank listens for the others.
	Port int32
}

// Rank is one rank of a gang.
type Rank struct {
	// Role as in spec.replicaSpecs, and Index within it, from 0.
	Role  string
	Index int32
	// Number over all roles, from 0.
	Number int32
	// Host name and Port at which the others reach the rank.
	Host string
	Port int32
	// GPUs of the rank's trainer; 0 for none.
	GPUs int64
}

// Size is the number of ranks.
func (g Gang) Size() int32 {
	var n int32
	for _, role := range g.Roles {
		n += role.Replicas
	}
	return n
}

// Replicas is the number of ranks of a role, 0 if the gang does not have it.
func (g Gang) Replicas(role string) int32 {
	for _, r := range g.Roles {
		if r.Name == role {
			return r.Replicas
		}
	}
	return 0
}

// Leader is rank 0, at which the others meet: the first rank of the first role.
func (g Gang) Leader() Rank { return g.rank(g.Roles[0], 0, 0) }

// Rank returns the rank with an index in a role. It panics if the gang does not have the role.
func (g Gang) Rank(role string, index int32) Rank {
	var before int32
	for _, r := range g.Roles {
		if r.Name == role {
			return g.rank(r, index, before+index)
		}
		before += r.Replicas
	}
	panic("no role " + role + " in the gang of " + g.Job)
}

// Ranks yields every rank, in the order of their numbers.
func (g Gang) Ranks() iter.Seq[Rank] {
	return func(yield func(Rank) bool) {
		var number int32
		for _, role := range g.Roles {
			for index := range role.Replicas {
				if !yield(g.rank(role, index, number)) {
					return
				}
				number++
			}
		}
	}
}

func (g Gang) rank(role Role, index, number int32) Rank {
	return Rank{
		Role: role.Name, Index: index, Number: number,
		Host: g.Host(role.Name, index), Port: role.Port, GPUs: role.GPUs,
	}
}
