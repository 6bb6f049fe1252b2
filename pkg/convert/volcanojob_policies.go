package convert

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	volcanobatch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	volcanobus "volcano.sh/apis/pkg/apis/bus/v1alpha1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// restartPolicy of a task: what its policies, else the job's, make of a pod that fails, else what the kubelet
// would.
func (v *volcano) restartPolicy(task volcanobatch.TaskSpec, at *field.Path) v1alpha1.RestartPolicy {
	for _, policy := range slices.Concat(task.Policies, v.from.Policies) {
		if policy.ExitCode != nil || !handles(policy, volcanobus.PodFailedEvent, volcanobus.TaskFailedEvent) {
			continue
		}
		switch policy.Action {
		case volcanobus.RestartJobAction, volcanobus.RestartTaskAction, volcanobus.RestartPodAction:
			return v1alpha1.RestartOnFailure
		case volcanobus.AbortJobAction, volcanobus.TerminateJobAction, volcanobus.CompleteJobAction:
			return v1alpha1.RestartNever
		}
	}
	switch task.Template.Spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return v1alpha1.RestartNever
	case "":
		v.warn(at.Child("template", "spec", "restartPolicy"), "is absent, and Kubernetes would then restart "+
			"containers that have succeeded: OnFailure is written")
	case corev1.RestartPolicyAlways:
		return v1alpha1.RestartAlways
	}
	return v1alpha1.RestartOnFailure
}

// handles reports whether a policy is for one of some events.
func handles(policy volcanobatch.LifecyclePolicy, events ...volcanobus.Event) bool {
	of := append(slices.Clone(policy.Events), policy.Event)
	return slices.ContainsFunc(of, func(e volcanobus.Event) bool {
		return e == volcanobus.AnyEvent || slices.Contains(events, e)
	})
}

// policies warns of what the operator would not do.
func (v *volcano) policies(path *field.Path) {
	for i, policy := range v.from.Policies {
		v.policy(policy, "", path.Child("policies").Index(i))
	}
	for i, task := range v.from.Tasks {
		for j, policy := range task.Policies {
			v.policy(policy, v.roles[i], v.paths[i].Child("policies").Index(j))
		}
	}
}

// policy of the job, or of a role. A lost rank restarts the gang, and a failed one as restartPolicy says.
func (v *volcano) policy(policy volcanobatch.LifecyclePolicy, role v1alpha1.Role, at *field.Path) {
	if policy.Timeout != nil {
		v.warn(at.Child("timeout"), noCounterpart)
	}
	if policy.ExitCode != nil {
		v.warn(at.Child("exitCode"), noCounterpart+": restartPolicy ExitCode restarts on 128 to 255 only")
		return
	}
	events := slices.Clone(policy.Events)
	if policy.Event != "" {
		events = append(events, policy.Event)
	}
	for _, event := range events {
		switch fails := event == volcanobus.PodFailedEvent || event == volcanobus.TaskFailedEvent; {
		case fails && policy.Action == volcanobus.AbortJobAction:
			v.warn(at, "AbortJob on %s fails the job, which cannot be resumed then", event)
		case !v.agrees(event, policy.Action, role):
			v.warn(at, "%s on %s "+noCounterpart, policy.Action, event)
		}
	}
}

// agrees reports whether the operator does on an event what an action says.
func (v *volcano) agrees(event volcanobus.Event, action volcanobus.Action, role v1alpha1.Role) bool {
	switch event {
	case volcanobus.PodEvictedEvent:
		return action == volcanobus.RestartJobAction
	case volcanobus.PodFailedEvent, volcanobus.TaskFailedEvent:
		return action == volcanobus.RestartJobAction || action == volcanobus.TerminateJobAction
	case volcanobus.AnyEvent:
		return action == volcanobus.RestartJobAction
	case volcanobus.TaskCompletedEvent:
		if action != volcanobus.CompleteJobAction || role == "" {
			return false
		}
		return spec.Decides(v.job.Spec.SuccessPolicy, spec.Roles(v.job), false)(spec.RankRef{Role: role})
	}
	return action == volcanobus.SyncJobAction
}
