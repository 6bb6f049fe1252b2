package framework

import "slices"

// defaults are variables of which the operator gives only a default: each is right in all ranks or in none,
// so a job may set its own.
var defaults = []string{"PET_NPROC_PER_NODE", "PYTHONUNBUFFERED"}

// Reserved lists the variables that tell a rank who it is and where the others are, sorted: a job must not
// set them. They are what Env gives to any rank of a gang that has two ranks of each role, with two GPUs
// each, without what is only a default.
func (f Framework) Reserved() []string {
	if f.Env == nil {
		return nil
	}
	roles := f.Roles
	if len(roles) == 0 {
		roles = []string{"Master", "Worker"}
	}
	gang := Gang{
		Job: "job", FilesDir: "/files",
		Host: func(role string, _ int32) string { return role },
	}
	for _, name := range roles {
		gang.Roles = append(gang.Roles, Role{Name: name, Replicas: 2, GPUs: 2, Port: f.DefaultPort})
	}
	var names []string
	for rank := range gang.Ranks() {
		for _, e := range f.Env(gang, rank) {
			if !slices.Contains(defaults, e.Name) {
				names = append(names, e.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
