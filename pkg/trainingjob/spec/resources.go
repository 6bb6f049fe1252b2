package spec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Extended reports whether a resource cannot be overcommitted, so that the API server demands limits equal to
// requests (k8s.io/kubernetes/pkg/apis/core/v1/helper, IsExtendedResourceName).
func Extended(name corev1.ResourceName) bool {
	s := string(name)
	return strings.Contains(s, "/") && !strings.Contains(s, corev1.ResourceDefaultNamespacePrefix) &&
		!strings.HasPrefix(s, corev1.DefaultResourceRequestsPrefix)
}
