package simtrainer

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// wrappedPod is rank 0 of 4, in attempt 2, next to a container that is no trainer.
func wrappedPod() *corev1.Pod {
	env := map[string]string{
		"RANK": "7", "WORLD_SIZE": "4", checkpoint.EnvAttempt: "2",
		checkpoint.EnvDir: "/checkpoints/attempt-2", checkpoint.EnvInterval: "60",
		checkpoint.EnvKeepLast: "5", checkpoint.EnvResume: "/checkpoints/attempt-1/step-0000000500",
		checkpoint.EnvGrace:  "20",
		checkpoint.EnvJobUID: "uid", checkpoint.EnvURI: "pvc://bert-checkpoints",
		checkpoint.EnvReportURL: "https://operator.example.com/v1/reports?a=$$b",
		checkpoint.EnvTokenFile: "/trainingjob/token/token", checkpoint.EnvCA: "PEM",
	}
	trainer := corev1.Container{
		Name:         "trainer",
		Command:      []string{"/trainingjob/bin/agent", "run", "--rank=0", "--retain", "--", "train", "--rank=9"},
		VolumeMounts: []corev1.VolumeMount{{Name: "token", MountPath: "/trainingjob/token"}},
	}
	for name, value := range env {
		trainer.Env = append(trainer.Env, corev1.EnvVar{Name: name, Value: value})
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: "bert-worker-0", UID: "pod-uid",
			Annotations: map[string]string{localcluster.AnnotationTrainer: "steps=5"},
		},
		Spec: corev1.PodSpec{
			ServiceAccountName: "default", Containers: []corev1.Container{{Name: "sidecar"}, trainer},
			Volumes: []corev1.Volume{{Name: "token", VolumeSource: corev1.VolumeSource{
				Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
					ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
						Audience: "reports", ExpirationSeconds: ptr.To[int64](3600), Path: "token",
					},
				}}},
			}}},
		},
	}
}

func set(pod *corev1.Pod, name, value string) {
	for i, e := range pod.Spec.Containers[1].Env {
		if e.Name == name {
			pod.Spec.Containers[1].Env[i].Value = value
		}
	}
}

func TestReadRank(t *testing.T) {
	got, err := readRank(wrappedPod())
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := ParseSpec("steps=5")
	want := Rank{
		Spec: spec, Container: 1, Wrapped: true, Number: 0, WorldSize: 4, Gang: "team-a/uid/2", Attempt: 2,
		Location: Location{"team-a", "pvc://bert-checkpoints", "uid"}, Resume: "attempt-1/step-0000000500",
		Every: time.Minute, Keep: 5, Grace: 20 * time.Second,
		ReportTo: ReportTarget{
			URL: "https://operator.example.com/v1/reports?a=$b", CA: "PEM", Audience: "reports",
			ExpirationSeconds: ptr.To[int64](3600),
			ServiceAccount:    "default",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRanksBeatWhereTheOperatorAsks: any rank that has the beat file and a report server.
func TestRanksBeatWhereTheOperatorAsks(t *testing.T) {
	pod := wrappedPod()
	trainer := &pod.Spec.Containers[1]
	trainer.Command[2] = "--rank=3"
	trainer.Env = append(trainer.Env, corev1.EnvVar{Name: checkpoint.EnvBeatFile, Value: "/status/beat"})
	if r, err := readRank(pod); err != nil || !r.Beats || r.Number != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	set(pod, checkpoint.EnvReportURL, "")
	if r, err := readRank(pod); err != nil || r.Beats {
		t.Errorf("without a report server: %+v, %v", r, err)
	}
}

// TestRanksRecordInRehearsals: the flag of the agent counts, not the variable of the trainer.
func TestRanksRecordInRehearsals(t *testing.T) {
	pod := wrappedPod()
	trainer := &pod.Spec.Containers[1]
	trainer.Env = append(trainer.Env, corev1.EnvVar{Name: checkpoint.EnvRehearsal, Value: "1"})
	if r, err := readRank(pod); err != nil || r.Rehearsal {
		t.Errorf("without the flag: %+v, %v", r, err)
	}
	trainer.Command = slices.Insert(trainer.Command, 3, "--rehearsal")
	if r, err := readRank(pod); err != nil || !r.Rehearsal {
		t.Errorf("with the flag: %+v, %v", r, err)
	}
}

func TestReadRankOfOthers(t *testing.T) {
	object := wrappedPod()
	set(object, checkpoint.EnvDir, "s3://models/bert/attempt-2")
	set(object, checkpoint.EnvURI, "s3://models/bert")
	set(object, checkpoint.EnvResume, "s3://models/bert/attempt-1/step-0000000500")
	if r, err := readRank(object); err != nil || !r.ObjectStore || r.Resume != "attempt-1/step-0000000500" ||
		r.Location.URI != "s3://models/bert" {
		t.Errorf("on an object store: %+v, %v", r, err)
	}
	plain := wrappedPod()
	plain.Spec.Containers = []corev1.Container{
		{Name: "main", Command: []string{"python"}, Env: []corev1.EnvVar{{Name: "RANK", Value: "3"}}},
	}
	plain.OwnerReferences = []metav1.OwnerReference{{UID: "owner", Controller: ptr.To(true)}}
	if r, err := readRank(plain); err != nil || r.Wrapped || r.Number != 3 || r.WorldSize != 1 ||
		r.Location.URI != "" || r.Gang != "team-a/owner/" {
		t.Errorf("without checkpoints: %+v, %v", r, err)
	}
}

func TestReadRankRejects(t *testing.T) {
	cases := map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"the annotation": {
			func(p *corev1.Pod) { p.Annotations[localcluster.AnnotationTrainer] = "rate=5" },
			"annotation " + localcluster.AnnotationTrainer + ": steps is missing",
		},
		"no number": {
			func(p *corev1.Pod) { set(p, "WORLD_SIZE", "four") },
			`$WORLD_SIZE is "four": give a whole number`,
		},
		"the rank": {
			func(p *corev1.Pod) { p.Spec.Containers[1].Command[2] = "--rank=-1" }, "the rank is",
		},
		"another attempt's directory": {
			func(p *corev1.Pod) { set(p, checkpoint.EnvDir, "/checkpoints/attempt-1") },
			"it must end in attempt-2",
		},
		"no URI": {func(p *corev1.Pod) { set(p, checkpoint.EnvURI, "") }, "is missing"},
		"a resume point elsewhere": {
			func(p *corev1.Pod) { set(p, checkpoint.EnvResume, "/elsewhere/attempt-1/step-1") },
			"does not lie under",
		},
		"no token": {func(p *corev1.Pod) { p.Spec.Volumes = nil }, "no projected token"},
		"no account": {
			func(p *corev1.Pod) { p.Spec.ServiceAccountName = "" }, "serviceAccountName is empty",
		},
		"http": {
			func(p *corev1.Pod) { set(p, checkpoint.EnvReportURL, "http://operator.example.com") },
			"use https",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pod := wrappedPod()
			c.change(pod)
			if _, err := readRank(pod); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestReadResolver(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a"}}
	pod.Spec = corev1.PodSpec{Containers: []corev1.Container{{
		Args: []string{"resolve", "--volume=/checkpoints=pvc://bert-checkpoints/", "--attempt=3", "--job-uid=uid"},
	}}}
	got, err := readResolver(pod)
	want := Resolver{Location: Location{"team-a", "pvc://bert-checkpoints", "uid"}, Attempt: 3}
	if diff := cmp.Diff(want, got); diff != "" ||
		err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, args := range [][]string{
		{"run"}, {"resolve"}, {"resolve", "--volume=/checkpoints"}, {"resolve", "--volume=/a=http://b"},
		{"resolve", "--speed=5"},
	} {
		pod.Spec.Containers[0].Args = args
		if r, err := readResolver(pod); err == nil {
			t.Errorf("%v: got %+v", args, r)
		}
	}
}
