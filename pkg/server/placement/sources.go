package placement

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
)

// Sources of a cluster are where its nodes and pods are listed and watched.
type Sources struct {
	Nodes, Pods toolscache.ListerWatcher
}

// NewSources asks a cluster with the server's own credentials. Nothing is asked before Run.
func NewSources(config *rest.Config) (Sources, error) {
	own := rest.CopyConfig(config)
	// A tenth of the work of reading JSON, where there are ten thousands of pods.
	own.ContentType = runtime.ContentTypeProtobuf
	own.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	core, err := corev1client.NewForConfig(own)
	if err != nil {
		return Sources{}, fmt.Errorf("making a client of nodes and pods: %w", err)
	}
	return Sources{
		Nodes: toolscache.NewListWatchFromClient(core.RESTClient(), "nodes", "", fields.Everything()),
		Pods:  toolscache.NewListWatchFromClient(core.RESTClient(), "pods", "", onNodes()),
	}, nil
}

// onNodes selects the pods that are bound and have not ended: the API server leaves out all others, and
// reports one that ends as deleted.
func onNodes() fields.Selector {
	return fields.AndSelectors(
		fields.OneTermNotEqualSelector("spec.nodeName", ""),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
	)
}
