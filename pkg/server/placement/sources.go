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

// Sources of a cluster list and watch its nodes and pods.
type Sources struct {
	Nodes, Pods toolscache.ListerWatcher
}

// NewSources uses the server's own credentials. It sends no request before Run.
func NewSources(config *rest.Config) (Sources, error) {
	own := rest.CopyConfig(config)
	// Protobuf takes a tenth of the work of JSON, with tens of thousands of pods.
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

// onNodes selects the pods that are bound and have not ended. The API server reports a pod that ends as
// deleted.
func onNodes() fields.Selector {
	return fields.AndSelectors(
		fields.OneTermNotEqualSelector("spec.nodeName", ""),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
	)
}
