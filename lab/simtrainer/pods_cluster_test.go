//go:build cluster

package simtrainer_test

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// newGang returns the pods of one attempt as the operator renders them, with trainers that the agent wraps.
func newGang(
	reports *fakeReportServer, job, annotation string, attempt, ranks int, resume string,
) []*corev1.Pod {
	var pods []*corev1.Pod
	for rank := range ranks {
		env := map[string]string{
			"RANK": strconv.Itoa(rank), "WORLD_SIZE": strconv.Itoa(ranks),
			checkpoint.EnvAttempt:  strconv.Itoa(attempt),
			checkpoint.EnvDir:      fmt.Sprintf("/checkpoints/attempt-%d", attempt),
			checkpoint.EnvInterval: "300", checkpoint.EnvKeepLast: "3", checkpoint.EnvResume: resume,
			checkpoint.EnvStatusFile:  "/trainingjob/status/status.json",
			checkpoint.EnvCommandFile: "/trainingjob/status/command.json",
			checkpoint.EnvGrace:       "30", checkpoint.EnvJobUID: "uid-of-" + job,
			checkpoint.EnvURI: "pvc://" + job + "-checkpoints",
		}
		trainer := corev1.Container{
			Name: "trainer", Image: "none",
			Command: []string{
				"/trainingjob/bin/agent", "run", "--rank=" + strconv.Itoa(rank), "--", "python", "train.py",
			},
		}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: fmt.Sprintf("%s-worker-%d", job, rank),
				Annotations: map[string]string{localcluster.AnnotationTrainer: annotation},
			},
			Spec: corev1.PodSpec{
				NodeName: fmt.Sprintf("node-%d", rank%2), RestartPolicy: corev1.RestartPolicyNever,
				ServiceAccountName:            "default",
				TerminationGracePeriodSeconds: ptr.To[int64](40),
				InitContainers: []corev1.Container{
					{Name: "trainingjob-agent", Image: "none", Args: []string{"install", "/trainingjob/bin"}},
				},
			},
		}
		if rank == 0 {
			env[checkpoint.EnvReportURL], env[checkpoint.EnvCA] = reports.server.URL+"/v1/reports", reports.ca()
			env[checkpoint.EnvTokenFile] = "/trainingjob/token/token"
			mountToken(pod, &trainer)
		}
		for name, value := range env {
			trainer.Env = append(trainer.Env, corev1.EnvVar{Name: name, Value: value})
		}
		pod.Spec.Containers = []corev1.Container{trainer}
		pods = append(pods, pod)
	}
	return pods
}

// mountToken projects the token for reports into a container.
func mountToken(pod *corev1.Pod, container *corev1.Container) {
	container.VolumeMounts = []corev1.VolumeMount{
		{Name: "trainingjob-token", MountPath: "/trainingjob/token", ReadOnly: true},
	}
	pod.Spec.Volumes = []corev1.Volume{{Name: "trainingjob-token", VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
			ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
				Audience: audience, ExpirationSeconds: ptr.To[int64](600), Path: "token",
			},
		}}},
	}}}
}

// newResolver returns the pod that looks for a job's latest complete checkpoint.
func newResolver(job, container string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: job + "-resolve",
			Labels: map[string]string{"mlplatform.example.com/component": "resolver"},
		},
		Spec: corev1.PodSpec{
			NodeName: "node-0", RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: "default",
			Containers: []corev1.Container{{
				Name: container, Image: "none",
				Args: []string{
					"resolve", "--volume=/checkpoints=pvc://" + job + "-checkpoints", "--attempt=1",
					"--job-uid=uid-of-" + job,
				},
			}},
		},
	}
}
