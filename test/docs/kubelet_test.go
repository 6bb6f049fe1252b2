//go:build cluster

package docs

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// serveLogs gives the fake nodes a kubelet that answers `kubectl logs`: no program writes anything there, so
// each rank's log is one line.
func serveLogs(t *testing.T, cluster *harness.Cluster) error {
	kubelet := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(r.URL.Path, "/") // /containerLogs/<namespace>/<pod>/<container>
		if len(parts) != 5 || parts[1] != "containerLogs" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, "%s: loss 1.23\n", parts[3])
	}))
	t.Cleanup(kubelet.Close)
	address, err := url.Parse(kubelet.URL)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(address.Port())
	if err != nil {
		return err
	}
	nodes := &corev1.NodeList{}
	if err := cluster.Client.List(t.Context(), nodes); err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}],`+
		`"daemonEndpoints":{"kubeletEndpoint":{"Port":%d}}}}`, port)
	for _, node := range nodes.Items {
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true,
			func(ctx context.Context) (bool, error) {
				return true, cluster.Client.Status().Patch(ctx, &node,
					client.RawPatch(types.MergePatchType, []byte(patch)))
			})
		if err != nil {
			return err
		}
	}
	return nil
}
