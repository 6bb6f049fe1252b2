package validation

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

const (
	maxNCCL       = 64
	maxNCCLValue  = 1024
	maxPathLength = 256
)

var (
	ncclName    = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,62}$`)
	metricsPath = regexp.MustCompile(`^/[A-Za-z0-9._~/-]*$`)
)

// validateNetworking checks the network settings of the ranks.
func validateNetworking(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	n := job.Spec.Networking
	errs := slices.Concat(
		oneOf(path.Child("backend"), n.Backend, v1alpha1.BackendNCCL, v1alpha1.BackendGloo, v1alpha1.BackendMPI,
			v1alpha1.BackendUCC),
		inRange(path.Child("masterPort"), n.MasterPort, 1024, 65535))
	if m := spec.Monitoring(job); m != nil && n.MasterPort != nil && *n.MasterPort == spec.MetricsPort(m) {
		errs = append(errs, field.Invalid(path.Child("masterPort"), *n.MasterPort, "the ranks meet on this port, "+
			"and serve metrics on the same one: change spec.networking.masterPort or spec.monitoring.port"))
	}
	at := path.Child("nccl")
	if len(n.NCCL) > maxNCCL {
		errs = append(errs, field.TooMany(at, len(n.NCCL), maxNCCL))
	}
	for _, name := range slices.Sorted(maps.Keys(n.NCCL)) {
		if !ncclName.MatchString(name) || strings.HasPrefix(name, "NCCL_") {
			errs = append(errs, field.Invalid(at, name, "is not the name of an NCCL setting: write it in upper case "+
				"without NCCL_, such as SOCKET_IFNAME"))
		}
		if len(n.NCCL[name]) > maxNCCLValue {
			errs = append(errs, field.TooLong(at.Key(name), "", maxNCCLValue))
		}
		if strings.ContainsRune(n.NCCL[name], 0) {
			errs = append(errs, field.Invalid(at.Key(name), "",
				"has a zero byte, which no variable can hold: remove it"))
		}
	}
	return errs
}

// validateMonitoring checks where the ranks serve metrics.
func validateMonitoring(m *v1alpha1.MonitoringSpec, path *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	errs := inRange(path.Child("port"), m.Port, 1, 65535)
	if m.Path != "" && !metricsPath.MatchString(m.Path) {
		errs = append(errs, field.Invalid(path.Child("path"), m.Path, "not the path of a URL: begin with a slash, "+
			"and use letters, digits, '/', '.', '_', '~' and '-'"))
	}
	if len(m.Path) > maxPathLength {
		errs = append(errs, field.TooLong(path.Child("path"), "", maxPathLength))
	}
	return errs
}
