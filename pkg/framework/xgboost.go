package framework

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// xgboost serves XGBoost's own collective, in which rank 0 runs the tracker and trains too, and LightGBM with
// its list of machines. Rank 0 is the Master, or else Worker 0.
//
// Container name, port name and port are those of Kubeflow's XGBoostJob
// (pkg/apis/kubeflow.org/v1/xgboost_types.go, training-operator v1.9).
func xgboost() Framework {
	return Framework{
		Name: "xgboost",
		Summary: "MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, DMLC_TRACKER_URI, DMLC_TRACKER_PORT, DMLC_TASK_ID; " +
			"for LightGBM WORKER_ADDRS, WORKER_PORT",
		Roles:          []string{"Master", "Worker"},
		ContainerNames: []string{"xgboost"},
		PortNames:      []string{"xgboostjob-port"},
		DefaultPort:    9999,
		Env:            xgboostEnv,
	}
}

func xgboostEnv(gang Gang, self Rank) []corev1.EnvVar {
	leader, size := gang.Leader(), gang.Size()
	host, port := leader.Host, fmt.Sprint(leader.Port)
	env := []corev1.EnvVar{
		// From these, programs for Kubeflow's XGBoostJob start the tracker and join it
		// (pkg/controller.v1/xgboost/xgboost.go and examples/xgboost, training-operator v1.9).
		{Name: "MASTER_ADDR", Value: host},
		{Name: "MASTER_PORT", Value: port},
		{Name: "RANK", Value: fmt.Sprint(self.Number)},
		{Name: "WORLD_SIZE", Value: fmt.Sprint(size)},
		// Read by xgboost.collective.init (python-package/xgboost/collective.py, XGBoost 1.7.4). From 2.1 on the
		// same names are arguments of it, and nothing is read from the environment
		// (src/collective/comm_group.cc, CommGroup::Create, commit 08ccefc3).
		{Name: "DMLC_TRACKER_URI", Value: host},
		{Name: "DMLC_TRACKER_PORT", Value: port},
		{Name: "DMLC_TASK_ID", Value: taskID(self.Number, size)},
		{Name: "DMLC_NUM_WORKER", Value: fmt.Sprint(size)},
		// Tries to reach the tracker, each 2 s longer after the last: over 6 min. By default it is 5, and ranks
		// fail after 20 s, while that of the tracker may still pull its image (rabit/src/allreduce_base.cc,
		// AllreduceBase::ConnectTracker, the same).
		{Name: "DMLC_WORKER_CONNECT_RETRY", Value: "20"},
		unbuffered(),
	}
	if size == 1 {
		return env
	}
	// LightGBM's machines are the Master and these (examples/xgboost/lightgbm-dist/utils.py,
	// generate_machine_list_file, training-operator v1.9).
	var others []string
	var workerPort int32
	for rank := range gang.Ranks() {
		if rank.Number > 0 {
			others, workerPort = append(others, rank.Host), rank.Port
		}
	}
	return append(env,
		corev1.EnvVar{Name: "WORKER_PORT", Value: fmt.Sprint(workerPort)},
		corev1.EnvVar{Name: "WORKER_ADDRS", Value: strings.Join(others, ",")})
}

// taskID is a rank's number with as many digits as the largest. A tracker with sortby="task" hands out ranks
// in the order of the tasks' ids, which it compares as text (python-package/xgboost/tracker.py,
// RabitTracker._sort_pending, XGBoost 1.7.4): "10" would come before "2".
func taskID(number, size int32) string {
	return fmt.Sprintf("%0*d", len(fmt.Sprint(size-1)), number)
}
