package framework

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// tensorflow serves tf.distribute and Estimator, which read where everybody is from TF_CONFIG. Parameter
// servers wait for ever (tf.distribute.Server.join), so only the Chief, or else the Workers, end the job.
//
// Container name, port name and port are those of Kubeflow's TFJob
// (pkg/apis/kubeflow.org/v1/tensorflow_types.go, training-operator v1.9). Its role Master, an old name of the
// Chief, is unknown to TensorFlow 2 (see tfConfig).
func tensorflow() Framework {
	return Framework{
		Name:           "tensorflow",
		Summary:        "with two or more ranks: TF_CONFIG",
		Roles:          []string{"Chief", "PS", "Worker", "Evaluator"},
		Single:         []string{"Evaluator"},
		ContainerNames: []string{"tensorflow"},
		PortNames:      []string{"tfjob-port"},
		DefaultPort:    2222,
		AllListen:      true,
		Env:            tensorflowEnv,
	}
}

func tensorflowEnv(gang Gang, self Rank) []corev1.EnvVar {
	env := []corev1.EnvVar{unbuffered()}
	// A rank that is alone trains locally. Estimator's RunConfig refuses a cluster without a chief
	// (tensorflow_estimator/python/estimator/run_config.py, _validate_task_type_and_task_id, commit 194c8cda),
	// and Kubeflow sets nothing either (pkg/controller.v1/tensorflow/tfjob_controller.go, SetClusterSpec,
	// training-operator v1.9).
	if gang.Size() == 1 {
		return env
	}
	return append(env, corev1.EnvVar{Name: "TF_CONFIG", Value: tfConfig(gang, self)})
}

// tfConfig is what TFConfigClusterResolver parses (TensorFlow at commit 00f0938a,
// tensorflow/python/distribute/cluster_resolver/tfconfig_cluster_resolver.py): the address of every task by
// its type, and the task that this rank is. The types are chief, ps, worker and evaluator, with at most one
// chief and one evaluator (tensorflow/python/distribute/multi_worker_util.py, _validate_cluster_spec, commit
// 0ac9e4be).
//
// An evaluator is not part of the training cluster: a ParameterServerStrategy connects to every task of the
// cluster (tensorflow/python/eager/remote.py, connect_to_cluster) and would wait for one that serves nothing.
// But multi_worker_util looks an evaluator up in its own cluster, so it alone finds itself there.
func tfConfig(gang Gang, self Rank) string {
	type task struct {
		Type  string `json:"type"`
		Index int32  `json:"index"`
	}
	cluster := map[string][]string{}
	for rank := range gang.Ranks() {
		if rank.Role == "Evaluator" && rank.Number != self.Number {
			continue
		}
		taskType := strings.ToLower(rank.Role)
		cluster[taskType] = append(cluster[taskType], fmt.Sprintf("%s:%d", rank.Host, rank.Port))
	}
	return mustJSON(struct {
		Cluster map[string][]string `json:"cluster"`
		Task    task                `json:"task"`
	}{cluster, task{strings.ToLower(self.Role), self.Index}})
}

// mustJSON encodes what consists of text and numbers alone, with the keys of maps in order.
func mustJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
