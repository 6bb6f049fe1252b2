package framework

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// mxnet serves MXNet's kvstore of type dist, and BytePS: the Scheduler brings Servers and Workers together.
// Importing mxnet makes a process that is no Worker serve until the Workers are done
// (python/mxnet/kvstore/kvstore_server.py, _init_kvstore_server_module, MXNet at commit 1e4f4c6a).
//
// Container name, port name and port are those of Kubeflow's MXJob (pkg/apis/kubeflow.org/v1/mxnet_types.go,
// training-operator v1.7, the last that had it). Its MX_CONFIG, which MXNet does not read, is left out.
func mxnet() Framework {
	return Framework{
		Name: "mxnet",
		Summary: "with two or more ranks: DMLC_ROLE, DMLC_PS_ROOT_URI, DMLC_PS_ROOT_PORT, DMLC_NUM_SERVER, " +
			"DMLC_NUM_WORKER",
		Roles:          []string{"Scheduler", "Server", "Worker"},
		Single:         []string{"Scheduler"},
		Needed:         []string{"Scheduler", "Server", "Worker"},
		ContainerNames: []string{"mxnet"},
		PortNames:      []string{"mxjob-port"},
		DefaultPort:    9091,
		Env:            mxnetEnv,
	}
}

func mxnetEnv(gang Gang, self Rank) []corev1.EnvVar {
	env := []corev1.EnvVar{unbuffered()}
	if gang.Size() == 1 { // it trains locally; MXNet takes a process without DMLC_ROLE for a worker
		return env
	}
	scheduler := gang.Rank("Scheduler", 0)
	env = append(env,
		// Read by ps-lite when it starts (src/postoffice.cc, commit 0cbf8ae3, and src/van.cc, Van::Start, commit
		// 004564b8).
		corev1.EnvVar{Name: "DMLC_ROLE", Value: strings.ToLower(self.Role)},
		corev1.EnvVar{Name: "DMLC_PS_ROOT_URI", Value: scheduler.Host},
		corev1.EnvVar{Name: "DMLC_PS_ROOT_PORT", Value: fmt.Sprint(scheduler.Port)},
		corev1.EnvVar{Name: "DMLC_NUM_SERVER", Value: fmt.Sprint(gang.Replicas("Server"))},
		corev1.EnvVar{Name: "DMLC_NUM_WORKER", Value: fmt.Sprint(gang.Replicas("Worker"))},
		// The scheduler binds to all addresses and not to that of its own name, which may not resolve yet
		// (src/zmq_van.h, ZMQVan::Bind, of the same).
		corev1.EnvVar{Name: "DMLC_USE_KUBERNETES", Value: "1"},
	)
	if self.Role == "Worker" {
		// Read by BytePS alone (launcher/launch.py, WORKER_REQUIRED_ENVS; Kubeflow gives it too:
		// pkg/controller.v1/mxnet/mxnet.go, addBytePSEnv, training-operator v1.7).
		env = append(env, corev1.EnvVar{Name: "DMLC_WORKER_ID", Value: fmt.Sprint(self.Index)})
	}
	return env
}
