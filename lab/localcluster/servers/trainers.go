package servers

import (
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// trainers is the process that simulates trainers: a program of ours, see lab/simtrainer. It is idle when
// no pod has the annotation for it.
func (c Config) trainers() process.Process {
	port := c.Ports[ProcessTrainers]
	return process.Process{
		Name: ProcessTrainers,
		Path: c.Trainers,
		Args: []string{
			"trainers",
			"--kubeconfig=" + c.Files.Kubeconfig(),
			"--volume=" + c.Files.Volume(),
			"--health-address=" + layout.LocalAddress(port),
		},
		Log:    c.Files.Log(ProcessTrainers),
		Ports:  []int{port},
		Health: "http://" + layout.LocalAddress(port) + "/healthz",
	}
}
