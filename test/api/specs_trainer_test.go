package api_test

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// trainerSpecs are about the fields for trainers outside of their templates.
func trainerSpecs() map[string]spec {
	version := func(v string) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) { j.Spec.FrameworkVersion = v }
	}
	memory := func(text string) func(*v1alpha1.TrainingJob) {
		q := resource.MustParse(text)
		return func(j *v1alpha1.TrainingJob) { j.Spec.SharedMemory = &q }
	}
	from := func(name string) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			j.Spec.HyperparametersFrom = &v1alpha1.ConfigMapReference{Name: name}
		}
	}
	typed := func(value v1alpha1.HyperparameterValue) func(*v1alpha1.TrainingJob) {
		return hyperparameters(map[string]v1alpha1.HyperparameterValue{"a": value})
	}
	return map[string]spec{
		"a version": {reason: "with a build", edit: version("2.1.0-cu121")},
		"a version that is too old": {
			reason: "torchrun would not read the ranks' variables", edit: version("1.8.1"),
			fields: []string{"spec.frameworkVersion"}, says: "releases of pytorch before 1.9",
		},
		"a version of another framework": {
			reason: "nothing is known of it",
			edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.Framework, j.Spec.FrameworkVersion = v1alpha1.FrameworkCustom, "0.1"
			},
		},
		"no version": {
			reason: "a tag of an image is none", edit: version("latest"),
			fields: []string{"spec.frameworkVersion"}, says: "not a version",
		},
		"half a version": {
			reason: "the numbers are compared", edit: version("2"),
			fields: []string{"spec.frameworkVersion"}, says: "not a version",
		},
		"shared memory":    {reason: "any size", edit: memory("64Gi")},
		"no shared memory": {reason: "0 turns the default off", edit: memory("0")},
		"negative shared memory": {
			reason: "no file system has that", edit: memory("-1Gi"),
			fields: []string{"spec.sharedMemory"}, says: "is negative",
		},
		"a success policy": {
			reason: "either is known",
			edit:   func(j *v1alpha1.TrainingJob) { j.Spec.SuccessPolicy = v1alpha1.SuccessAllWorkers },
		},
		"another success policy": {
			reason: "only two are known",
			edit:   func(j *v1alpha1.TrainingJob) { j.Spec.SuccessPolicy = "Majority" },
			fields: []string{"spec.successPolicy"}, says: "Leader",
		},
		"another security profile": {
			reason: "one is known",
			edit:   func(j *v1alpha1.TrainingJob) { j.Spec.SecurityProfile = "Root" },
			fields: []string{"spec.securityProfile"}, says: "NonRoot",
		},
		"hyperparameters of a ConfigMap": {reason: "the kubelet reads it", edit: from("defaults")},
		"hyperparameters of no ConfigMap": {
			reason: "no ConfigMap has such a name", edit: from("De Faults"),
			fields: []string{"spec.hyperparametersFrom.name"}, says: "not the name of a ConfigMap",
		},
		"a number":  {reason: "as it is written", edit: typed("0.001")},
		"a boolean": {reason: "as it is written", edit: typed("true")},
		"a text":    {reason: "one that looks like a number", edit: typed(v1alpha1.TextHyperparameter("1.10"))},
		"a list": {
			reason: "no schema can say that values are scalars", edit: typed("[1, 2]"),
			fields: []string{"spec.hyperparameters.a"}, says: "is a list, an object or null", goOnly: true,
		},
		"an object": {
			reason: "no schema can say that values are scalars", edit: typed(`{"b": 1}`),
			fields: []string{"spec.hyperparameters.a"}, says: "is a list, an object or null", goOnly: true,
		},
	}
}

// networkSpecs are about ports, the network and where the ranks lie.
func networkSpecs() map[string]spec {
	network := func(edit func(*v1alpha1.NetworkingSpec)) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) { edit(&j.Spec.Networking) }
	}
	nccl := func(name string) func(*v1alpha1.TrainingJob) {
		return network(func(n *v1alpha1.NetworkingSpec) { n.NCCL = map[string]string{name: "1"} })
	}
	metrics := func(m v1alpha1.MonitoringSpec) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) { j.Spec.Monitoring = &m }
	}
	near := func(hint v1alpha1.TopologyHint) func(*v1alpha1.TrainingJob) {
		return scheduling(func(p *v1alpha1.SchedulingPolicy) { p.Topology = &hint })
	}
	const topologyField = "spec.runPolicy.schedulingPolicy.topology"
	return map[string]spec{
		"a network": {reason: "all of it", edit: network(func(n *v1alpha1.NetworkingSpec) {
			n.Backend, n.MasterPort = v1alpha1.BackendNCCL, ptr.To[int32](29500)
			n.NCCL = map[string]string{"IB_DISABLE": "1"}
		})},
		"an unknown backend": {
			reason: "torch.distributed knows none of that name",
			edit:   network(func(n *v1alpha1.NetworkingSpec) { n.Backend = "smoke" }),
			fields: []string{"spec.networking.backend"}, says: "gloo",
		},
		"a privileged port": {
			reason: "trainers are not root",
			edit:   network(func(n *v1alpha1.NetworkingSpec) { n.MasterPort = ptr.To[int32](80) }),
			fields: []string{"spec.networking.masterPort"}, says: "1024",
		},
		"a setting with its prefix": {
			reason: "it would be NCCL_NCCL_DEBUG", edit: nccl("NCCL_DEBUG"),
			fields: []string{"spec.networking.nccl"}, says: "without NCCL_",
		},
		"a setting in lower case": {
			reason: "NCCL would not read it", edit: nccl("debug"),
			fields: []string{"spec.networking.nccl"}, says: "upper case",
		},
		"metrics": {reason: "with defaults", edit: metrics(v1alpha1.MonitoringSpec{})},
		"no metrics": {
			reason: "a block that is off collides with nothing",
			edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.Networking.MasterPort = ptr.To[int32](9090)
				j.Spec.Monitoring = &v1alpha1.MonitoringSpec{Enabled: ptr.To(false)}
			},
		},
		"one port for two": {
			reason: "9090 is the default of the other",
			edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.Networking.MasterPort = ptr.To[int32](9090)
				j.Spec.Monitoring = &v1alpha1.MonitoringSpec{}
			},
			fields: []string{"spec.networking.masterPort"}, says: "on the same one",
		},
		"metrics at no port": {
			reason: "ports end there", edit: metrics(v1alpha1.MonitoringSpec{Port: ptr.To[int32](65536)}),
			fields: []string{"spec.monitoring.port"}, says: "65535",
		},
		"metrics at no path": {
			reason: "a query is none", edit: metrics(v1alpha1.MonitoringSpec{Path: "metrics?a=b"}),
			fields: []string{"spec.monitoring.path"}, says: "begin with a slash",
		},
		"near each other": {reason: "a hint", edit: near(v1alpha1.TopologyHint{Mode: v1alpha1.TopologyPack})},
		"neither near nor far": {
			reason: "a hint says which", edit: near(v1alpha1.TopologyHint{Mode: "Orbit"}),
			fields: []string{topologyField + ".mode"}, says: "Spread",
		},
		"within one domain": {
			reason: "of a label",
			edit:   near(v1alpha1.TopologyHint{Mode: v1alpha1.TopologyWithin, Key: "example.com/rack"}),
		},
		"within an unnamed domain": {
			reason: "a requirement has no default",
			edit:   near(v1alpha1.TopologyHint{Mode: v1alpha1.TopologyWithin}),
			fields: []string{topologyField}, says: "needs a key",
		},
		"near by no label": {
			reason: "no node has it", edit: near(v1alpha1.TopologyHint{Mode: v1alpha1.TopologyPack, Key: "a b"}),
			fields: []string{topologyField + ".key"}, says: "not the key of a label",
		},
	}
}

// roleMinimumSpecs are about how many ranks of each role start together.
func roleMinimumSpecs() map[string]spec {
	least := func(master, worker *int32) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			editRole(v1alpha1.RoleMaster, func(r *v1alpha1.ReplicaSpec) { r.MinAvailable = master })(j)
			editRole(v1alpha1.RoleWorker, func(r *v1alpha1.ReplicaSpec) { r.MinAvailable = worker })(j)
		}
	}
	return map[string]spec{
		"a minimum of a role": {reason: "up to its ranks", full: true, edit: least(nil, ptr.To[int32](7))},
		"a role without a minimum": {
			reason: "as long as there is another", full: true, edit: least(ptr.To[int32](1), ptr.To[int32](0)),
		},
		"a minimum above the role's ranks": {
			reason: "it could never start", full: true, edit: least(nil, ptr.To[int32](8)),
			fields: []string{"spec.replicaSpecs"}, says: "exceeds its replicas",
		},
		"no rank is needed": {
			reason: "a gang has one", full: true, edit: least(ptr.To[int32](0), ptr.To[int32](0)),
			fields: []string{"spec.replicaSpecs"}, says: "so no rank would be needed",
		},
		"two sorts of minima": {
			reason: "they could contradict each other", full: true,
			edit: func(j *v1alpha1.TrainingJob) {
				least(nil, ptr.To[int32](3))(j)
				j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = ptr.To[int32](3)
			},
			fields: []string{minAvailableField}, says: "minAvailable is given twice",
		},
	}
}
