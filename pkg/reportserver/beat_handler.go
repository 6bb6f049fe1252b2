package reportserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// BeatsPath is where ranks post beats, below the configured URL.
const BeatsPath = "/v1/beats"

// serveBeat handles one beat. Its connection always ends with the response: those that stay are for rank 0.
func (h *handler) serveBeat(w http.ResponseWriter, req *http.Request) {
	answer, rejected := h.beat(w, req)
	if rejected != nil {
		h.metrics.beats.WithLabelValues(rejected.result).Inc()
		h.log.V(1).Info("Rejected a beat", "from", req.RemoteAddr, "code", rejected.code, "reason", rejected.text)
		rejected.write(w)
		return
	}
	h.metrics.beats.WithLabelValues(resultTaken).Inc()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // an agent that has hung up sends another beat
}

func (h *handler) beat(w http.ResponseWriter, req *http.Request) ([]byte, *rejection) {
	if rejected := h.route(w, req); rejected != nil {
		return nil, rejected
	}
	select {
	case h.beatsInFlight <- struct{}{}:
		defer func() { <-h.beatsInFlight }()
	default:
		return nil, reject(http.StatusServiceUnavailable, resultBusy,
			"%d beats are already in progress: try again", maxBeatsInFlight).after(retryUnavailable)
	}
	id, rejected := h.authenticate(req, h.beatTokens, h.beatAddresses)
	if rejected != nil {
		return nil, rejected
	}
	if rejected := h.checkNamespace(id); rejected != nil {
		return nil, rejected
	}
	from, rejected := findBeatingRank(req.Context(), h.caches, id)
	if rejected != nil {
		return nil, rejected
	}
	if !h.beats.take(from) {
		return nil, reject(http.StatusTooManyRequests, resultRate,
			"pod %s sends beats more than once in %s: keep minIntervalSeconds", id.name, beatRate).after(beatRate)
	}
	beat, rejected := readBeat(w, req)
	if rejected != nil {
		return nil, rejected
	}
	if beat.Attempt != from.attempt {
		return nil, reject(http.StatusConflict, resultAttempt,
			"beat: attempt is %d, but this pod belongs to attempt %d: do not change $%s",
			beat.Attempt, from.attempt, checkpoint.EnvAttempt)
	}
	return h.pace(h.beats.add(from, beat))
}

// pace is the response to a beat.
func (h *handler) pace(interval time.Duration) ([]byte, *rejection) {
	seconds := int32((interval + time.Second - 1) / time.Second)
	data, err := checkpoint.Encode(checkpoint.BeatAnswer{MinIntervalSeconds: seconds})
	if err != nil {
		h.log.Error(err, "Encoding the response to a beat")
		return nil, reject(http.StatusInternalServerError, resultInternal,
			"the operator failed to encode the response: see its log")
	}
	return data, nil
}

// readBeat reads at most checkpoint.MaxBeatBytes of a body, which must arrive soon: a slow one would occupy a
// place that other beats need.
func readBeat(w http.ResponseWriter, req *http.Request) (*checkpoint.Beat, *rejection) {
	// It fails in tests only, which have no connection.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(beatReadTimeout))
	data, err := io.ReadAll(http.MaxBytesReader(w, req.Body, checkpoint.MaxBeatBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, reject(http.StatusRequestEntityTooLarge, resultOversized, "beat has more than %d bytes",
			checkpoint.MaxBeatBytes)
	case err != nil:
		return nil, reject(http.StatusBadRequest, resultDisconnected,
			"beat is incomplete: send it completely within %s", beatReadTimeout)
	}
	beat, err := checkpoint.ParseBeat(data)
	if err != nil {
		return nil, reject(http.StatusBadRequest, resultMalformed, "%v", err)
	}
	return beat, nil
}

// beatingRank is a rank of a job's current attempt.
type beatingRank struct {
	job, pod types.UID
	// name of the pod.
	name    string
	attempt int32
	// active ranks in the job's status.
	active int
}

// findBeatingRank returns the rank whose pod a token is bound to, from the caches.
func findBeatingRank(ctx context.Context, caches client.Reader, id podIdentity) (beatingRank, *rejection) {
	pod, job, rejected := findPod(ctx, caches, id)
	if rejected != nil {
		return beatingRank{}, rejected
	}
	if !isRank(job, pod) {
		return beatingRank{}, forbid(id, "is not a rank of TrainingJob %s", job.Name)
	}
	attempt, rejected := attemptOf(id, pod)
	switch running := job.Status.Attempt; {
	case rejected != nil:
		return beatingRank{}, rejected
	case attempt > running: // the pod's watch is ahead of the job's
		return beatingRank{}, reject(http.StatusServiceUnavailable, resultAttempt,
			"attempt %d is not known here yet: try again", attempt).after(retryStatus)
	case attempt < running || !mayRun(job):
		return beatingRank{}, reject(http.StatusConflict, resultAttempt,
			"attempt %d has ended: its beats are not needed", attempt)
	}
	rank := beatingRank{job: job.UID, pod: pod.UID, name: pod.Name, attempt: attempt}
	for _, status := range job.Status.ReplicaStatuses {
		rank.active += int(status.Active)
	}
	return rank, nil
}

// isRank reports whether a pod that the job controls is one of its ranks, by its labels and its name.
func isRank(job *v1alpha1.TrainingJob, pod *corev1.Pod) bool {
	role := v1alpha1.Role(pod.Labels[v1alpha1.LabelKubeflowReplicaType])
	index, err := strconv.ParseInt(pod.Labels[v1alpha1.LabelKubeflowReplicaIndex], 10, 32)
	return err == nil && pod.Labels[v1alpha1.LabelComponent] == "" &&
		pod.Name == spec.PodName(job.Name, spec.RankRef{Role: role, Index: int32(index)})
}
