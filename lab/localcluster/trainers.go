package localcluster

// trainers is the command line of the simulated trainers: our own program, see
// lab/simtrainer. It idles where no pod has AnnotationTrainer.
func (p plan) trainers() process {
	port := p.ports[processTrainers]
	return process{
		Name: processTrainers,
		Path: p.options.Trainers,
		Args: []string{
			"trainers",
			"--kubeconfig=" + p.files.kubeconfig(),
			"--volume=" + p.files.volume(),
			"--health-address=" + localAddress(port),
		},
		Log:    p.files.log(processTrainers),
		Ports:  []int{port},
		Health: "http://" + localAddress(port) + "/healthz",
	}
}
