//go:build cluster

package simtrainer_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

const audience = "reports.example.com"

// desk is a report server that asks the API server who is speaking.
type desk struct {
	t      *testing.T
	api    client.Client
	server *httptest.Server

	mu       sync.Mutex
	reports  map[types.UID][]checkpoint.Report
	refusals map[string]int
	done     map[string]int
	commands map[string]checkpoint.Answer
}

func newDesk(t *testing.T, api client.Client) *desk {
	d := &desk{
		t: t, api: api, reports: map[types.UID][]checkpoint.Report{}, refusals: map[string]int{}, done: map[string]int{},
		commands: map[string]checkpoint.Answer{},
	}
	d.server = httptest.NewTLSServer(d)
	t.Cleanup(d.server.Close)
	return d
}

func (d *desk) ca() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: d.server.Certificate().Raw}))
}

func (d *desk) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	token, _ := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{audience}}}
	if err := d.api.Create(req.Context(), review); err != nil || !review.Status.Authenticated {
		d.t.Errorf("a token that is not valid: %v, %+v", err, review.Status)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	extra := review.Status.User.Extra
	pod, uid := extra["authentication.kubernetes.io/pod-name"], extra["authentication.kubernetes.io/pod-uid"]
	if len(pod) != 1 || len(uid) != 1 || !slices.Contains(review.Status.Audiences, audience) {
		d.t.Errorf("the token names no pod: %+v", review.Status)
		http.Error(w, "which pod?", http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	report, err := checkpoint.ParseReport(body)
	if err != nil {
		d.t.Errorf("a report that is not valid: %v", err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done[pod[0]] < d.refusals[pod[0]] {
		d.done[pod[0]]++
		w.Header().Set("Retry-After", "1")
		http.Error(w, "not the leader", http.StatusServiceUnavailable)
		return
	}
	d.reports[types.UID(uid[0])] = append(d.reports[types.UID(uid[0])], *report)
	answer, ok := d.commands[pod[0]]
	if !ok || report.Step == 0 { // nothing to save before the first step
		answer = checkpoint.Answer{Command: checkpoint.CommandNone}
	}
	answer.MinIntervalSeconds = 1
	data, err := checkpoint.Encode(answer)
	if err != nil {
		d.t.Error(err)
	}
	_, _ = w.Write(data)
}

// of a pod: the reports that came with a token that is bound to it.
func (d *desk) of(pod *corev1.Pod) []checkpoint.Report {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.reports[pod.UID])
}

func (d *desk) refuse(pod string, times int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refusals[pod] = times
}

func (d *desk) refused(pod string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done[pod]
}

func (d *desk) command(pod string, a checkpoint.Answer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.commands[pod] = a
}

// newGang are the pods of one attempt as the operator renders them, with the agent around the trainer.
func newGang(d *desk, job, annotation string, attempt, ranks int, resume string) []*corev1.Pod {
	var pods []*corev1.Pod
	for rank := range ranks {
		env := map[string]string{
			"RANK": strconv.Itoa(rank), "WORLD_SIZE": strconv.Itoa(ranks),
			checkpoint.EnvAttempt: strconv.Itoa(attempt), checkpoint.EnvDir: fmt.Sprintf("/checkpoints/attempt-%d", attempt),
			checkpoint.EnvInterval: "300", checkpoint.EnvKeepLast: "3", checkpoint.EnvResume: resume,
			checkpoint.EnvStatusFile: "/trainingjob/status/status.json", checkpoint.EnvCommandFile: "/trainingjob/status/command.json",
			checkpoint.EnvGrace: "30", checkpoint.EnvJobUID: "uid-of-" + job, checkpoint.EnvURI: "pvc://" + job + "-checkpoints",
		}
		trainer := corev1.Container{
			Name: "trainer", Image: "none",
			Command: []string{"/trainingjob/bin/agent", "run", "--rank=" + strconv.Itoa(rank), "--", "python", "train.py"},
		}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: fmt.Sprintf("%s-worker-%d", job, rank),
				Annotations: map[string]string{localcluster.AnnotationTrainer: annotation},
			},
			Spec: corev1.PodSpec{
				NodeName: fmt.Sprintf("node-%d", rank%2), RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: "default",
				TerminationGracePeriodSeconds: ptr.To[int64](40),
				InitContainers:                []corev1.Container{{Name: "trainingjob-agent", Image: "none", Args: []string{"install", "/trainingjob/bin"}}},
			},
		}
		if rank == 0 {
			env[checkpoint.EnvReportURL], env[checkpoint.EnvCA] = d.server.URL+"/v1/reports", d.ca()
			env[checkpoint.EnvTokenFile] = "/trainingjob/token/token"
			trainer.VolumeMounts = []corev1.VolumeMount{{Name: "trainingjob-token", MountPath: "/trainingjob/token", ReadOnly: true}}
			pod.Spec.Volumes = []corev1.Volume{{Name: "trainingjob-token", VolumeSource: corev1.VolumeSource{
				Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
					ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: audience, ExpirationSeconds: ptr.To[int64](600), Path: "token"},
				}}},
			}}}
		}
		for name, value := range env {
			trainer.Env = append(trainer.Env, corev1.EnvVar{Name: name, Value: value})
		}
		pod.Spec.Containers = []corev1.Container{trainer}
		pods = append(pods, pod)
	}
	return pods
}

// newResolver is the pod that looks for a job's latest complete checkpoint.
func newResolver(job, container string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: job + "-resolve", Labels: map[string]string{"mlplatform.example.com/component": "resolver"},
		},
		Spec: corev1.PodSpec{
			NodeName: "node-0", RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: "default",
			Containers: []corev1.Container{{
				Name: container, Image: "none",
				Args: []string{"resolve", "--volume=/checkpoints=pvc://" + job + "-checkpoints", "--attempt=1", "--job-uid=uid-of-" + job},
			}},
		},
	}
}

func rawVersion(version string) *metav1.ListOptions {
	return &metav1.ListOptions{ResourceVersion: version}
}
