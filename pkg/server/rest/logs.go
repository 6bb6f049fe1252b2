package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// LogsInput requests the log of one rank.
type LogsInput struct {
	JobPath
	Role         v1alpha1.Role `query:"role" enum:"Master,Chief,Launcher,Scheduler,Server,PS,Worker,Evaluator" doc:"Role of the rank. By default that of rank 0."`
	Index        int32         `query:"index" minimum:"0" maximum:"9999" doc:"Index of the rank within its role, from 0."`
	Container    string        `query:"container" maxLength:"63" doc:"Container of the rank's pod. By default the one that trains."`
	Follow       bool          `query:"follow" doc:"Follow the log until the container ends, the stream's time limit is over, or the caller loses the right."`
	Previous     bool          `query:"previous" doc:"The container before its last restart by the kubelet."`
	TailLines    int64         `query:"tailLines" minimum:"-1" maximum:"1000000" default:"-1" doc:"Number of last lines to begin with; -1 for all."`
	SinceSeconds int64         `query:"sinceSeconds" minimum:"0" maximum:"31536000" doc:"Only the last seconds; 0 for all."`
	Timestamps   bool          `query:"timestamps" doc:"Begin every line with its time."`
}

func (s *Server) routeLogs() {
	register(s, huma.Operation{
		OperationID: "getTrainingJobLogs", Method: http.MethodGet, Path: named + "/logs", Tags: tagJobs,
		Summary: "Get the log of one rank",
		Description: "The output of kubectl logs for the rank's pod. Requires the caller's right (get " +
			"pods and " +
			"pods/log). A rank whose pod is deleted has no log.",
		Responses: text(typeText, "What the rank has written"),
	}, s.logs)
}
func (s *Server) logs(ctx context.Context, in *LogsInput) (*huma.StreamResponse, error) {
	job, err := s.job(ctx, in.JobPath)
	if err != nil {
		return nil, err
	}
	log, err := s.openLog(ctx, job, in, nil)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(h huma.Context) {
		defer log.lines.Close()
		_, err := io.Copy(s.streamTo(h, typeText+"; charset=utf-8"), log.lines)
		if err != nil && !errors.Is(err, context.Canceled) && log.while.Err() == nil {
			s.Log.V(1).Info("A log has ended early", "pod", log.pod, "namespace", in.Namespace, "why", err.Error())
		}
	}}, nil
}

// openedLog of a pod, and the context during which the caller may read it.
type openedLog struct {
	pod   string
	uid   types.UID
	lines io.ReadCloser
	while context.Context
}

// RankLog is the log of one rank, and the pod that writes it: the rank's next pod can be on a node with
// another clock.
type RankLog struct {
	io.ReadCloser
	Pod types.UID
}

// JobLogs are the logs of one job's ranks, if the caller may read them.
type JobLogs struct {
	// Job as it was when it was read. Its pods are looked up for each log.
	Job *v1alpha1.TrainingJob
	// Open opens the log of one rank; it ignores the input's path. It omits what its pod wrote before since,
	// to the second; zero: nothing. A followed log ends like a stream over HTTP, and with the context. The
	// caller must close it.
	Open func(ctx context.Context, in *LogsInput, since func(pod types.UID) time.Time) (*RankLog, error)
}

func (s *Server) jobLogs(ctx context.Context, in *JobPath) (*JobLogs, error) {
	job, err := s.job(ctx, *in)
	if err != nil {
		return nil, err
	}
	at := *in
	open := func(
		ctx context.Context, in *LogsInput, since func(types.UID) time.Time,
	) (*RankLog, error) {
		of := *in
		of.JobPath = at
		if err := valid(&of); err != nil {
			return nil, err
		}
		log, err := s.openLog(ctx, job, &of, since)
		if err != nil {
			return nil, err
		}
		return &RankLog{log.lines, log.uid}, nil
	}
	return &JobLogs{job, open}, nil
}

// openLog opens the log of a rank, without what its pod wrote before a time; nil: everything.
func (s *Server) openLog(
	ctx context.Context, job *v1alpha1.TrainingJob, in *LogsInput, since func(types.UID) time.Time,
) (*openedLog, error) {
	rank, err := in.rank(job)
	if err != nil {
		return nil, err
	}
	_, config, err := s.as(ctx, in.Cluster)
	if err != nil {
		return nil, err
	}
	core, err := typedcorev1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	pods := core.Pods(in.Namespace)
	pod, err := pods.Get(ctx, spec.PodName(job.Name, rank), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, noPod(job, rank)
	case err != nil:
		return nil, clusterError(in.Cluster, err)
	case !metav1.IsControlledBy(pod, job):
		return nil, problem.Newf(problem.Conflict, "pod %s is not the job's: it has the name of a rank", pod.Name).
			WithRemedy("delete that pod, or read it with kubectl logs")
	}
	container, err := in.containerOf(job, pod)
	if err != nil {
		return nil, err
	}
	while := ctx
	if in.Follow {
		if err := s.BeginStream(ctx); err != nil {
			return nil, err
		}
		while = s.whileAllowed(ctx, s.mayLog(in, pod.Name))
	}
	options := in.options(container)
	if since != nil {
		if from := since(pod.UID); !from.IsZero() { // the kubelet accepts one of them
			options.SinceTime, options.SinceSeconds = new(metav1.NewTime(from)), nil
		}
	}
	lines, err := pods.GetLogs(pod.Name, options).Stream(while)
	if err != nil {
		return nil, clusterError(in.Cluster, err)
	}
	return &openedLog{pod.Name, pod.UID, lines, while}, nil
}

// rank returns the requested rank.
func (in *LogsInput) rank(job *v1alpha1.TrainingJob) (spec.RankRef, error) {
	roles := spec.Roles(job)
	var names []string
	for _, role := range roles {
		names = append(names, fmt.Sprintf("%s 0-%d", role.Name, role.Replicas-1))
		if in.Role != "" && in.Role != role.Name {
			continue
		}
		if in.Index < role.Replicas {
			return spec.RankRef{Role: role.Name, Index: in.Index}, nil
		}
		return spec.RankRef{}, problem.Newf(problem.Invalid, "role %s has %d ranks", role.Name, role.Replicas).
			About("query.index").WithRemedy(fmt.Sprintf("use one from 0 to %d", role.Replicas-1))
	}
	return spec.RankRef{}, problem.Newf(problem.Invalid, "the job has no role %s", in.Role).About("query.role").
		WithRemedy("use one of " + strings.Join(names, ", "))
}

func noPod(job *v1alpha1.TrainingJob, rank spec.RankRef) error {
	p := problem.Newf(problem.NotFound, "%s %d has no pod: the job is %s", rank.Role, rank.Index,
		job.Status.Phase)
	switch {
	case job.Status.Phase == "":
		p.Detail = fmt.Sprintf("%s %d has no pod: the operator has not seen the job yet", rank.Role, rank.Index)
		return p.WithRemedy("retry in a moment; if it persists, report to an admin that no operator is " +
			"running")
	case job.Status.Phase.Finished():
		return p.WithRemedy("look at status.lastFailure, or have pods kept by runPolicy.cleanPodPolicy: None")
	}
	return p.WithRemedy("retry when the job runs; /explain returns what it waits for")
}

// containerOf returns the requested container of a pod, else the trainer.
func (in *LogsInput) containerOf(job *v1alpha1.TrainingJob, pod *corev1.Pod) (string, error) {
	if in.Container == "" {
		return spec.Framework(job).Trainer(&pod.Spec).Name, nil
	}
	var names []string
	for _, c := range pod.Spec.InitContainers {
		names = append(names, c.Name)
	}
	for _, c := range pod.Spec.Containers {
		names = append(names, c.Name)
	}
	for _, name := range names {
		if name == in.Container {
			return name, nil
		}
	}
	return "", problem.Newf(problem.Invalid, "pod %s has no container %s", pod.Name, in.Container).
		About("query.container").WithRemedy("use one of " + strings.Join(names, ", "))
}

func (in *LogsInput) options(container string) *corev1.PodLogOptions {
	o := &corev1.PodLogOptions{
		Container: container, Follow: in.Follow, Previous: in.Previous, Timestamps: in.Timestamps,
	}
	if in.TailLines >= 0 {
		o.TailLines = &in.TailLines
	}
	if in.SinceSeconds > 0 {
		o.SinceSeconds = &in.SinceSeconds
	}
	return o
}

// mayLog reports whether the caller may still read a log. If the cluster does not respond, the stream
// continues: it comes from the same cluster.
func (s *Server) mayLog(in *LogsInput, pod string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		may, err := s.may(ctx, in.Cluster, authorizationv1.ResourceAttributes{
			Verb: verbGet, Resource: "pods", Subresource: "log", Namespace: in.Namespace, Name: pod,
		})
		return may || err != nil
	}
}
