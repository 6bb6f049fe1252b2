package native

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Name of the dialect.
const Name = "native"

// Options of the dialect. The zero value suits an unchanged cluster.
type Options struct {
	// SchedulerName is the kube-scheduler profile that places gangs; empty means default-scheduler.
	SchedulerName string
}

// Backend speaks the dialect of kube-scheduler.
type Backend struct{ options Options }

var (
	_ scheduler.PodsFirst = Backend{}
	_ scheduler.Installer = Backend{}
)

// New returns a backend with the given options.
func New(o Options) Backend {
	if o.SchedulerName == "" {
		o.SchedulerName = corev1.DefaultSchedulerName
	}
	return Backend{options: o}
}

// Name implements scheduler.Backend.
func (Backend) Name() string { return Name }

// PodsBeforeAdmission implements scheduler.PodsFirst: no gang is judged before its pods exist.
func (Backend) PodsBeforeAdmission() bool { return true }

var podGroupKind = schedulingv1beta1.SchemeGroupVersion.WithKind("PodGroup")

// Kinds implements scheduler.Backend.
func (Backend) Kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{podGroupKind}
}

// HowToInstall implements scheduler.Installer.
func (Backend) HowToInstall() string {
	return "turn on Kubernetes' own gang scheduling (Kubernetes 1.37 or later: " +
		"--runtime-config=scheduling.k8s.io/v1beta1=true on the API server, and the feature gate " +
		"GenericWorkload on the API server, the controller manager and the scheduler; 1.36 serves only " +
		"v1alpha2, see docs/schedulers.md)"
}

// AddToScheme registers the dialect's kinds.
func AddToScheme(s *runtime.Scheme) error { return schedulingv1beta1.AddToScheme(s) }
