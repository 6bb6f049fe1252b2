package servers

import "mlplatform.example.com/trainingjob-operator/lab/localcluster/process"

// Base are the processes that every cluster starts once the API server is ready.
func (c Config) Base() []process.Process {
	processes := []process.Process{c.controllerManager(), c.kubeScheduler(), c.kwok()}
	if c.Trainers != "" {
		processes = append(processes, c.trainers())
	}
	return processes
}
