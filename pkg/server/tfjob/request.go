package tfjob

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/tfjobadmin"
)

// maxBytes of a document.
const maxBytes = 1 << 20

// read parses the document of a request. It ignores read-only fields with a warning, and rejects unknown
// fields.
func (h *Handler) read(k *call) (*tfjobadmin.Request, error) {
	kind, _, err := mime.ParseMediaType(k.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" && kind != "application/merge-patch+json" {
		return nil, problem.New(problem.UnsupportedMediaType,
			fmt.Sprintf("%q is not supported for a document", k.Header.Get("Content-Type")),
			"send Content-Type: application/json").About("header.Content-Type")
	}
	data, err := io.ReadAll(http.MaxBytesReader(k.writer, k.Body, maxBytes))
	if err != nil {
		return nil, problem.Of(fmt.Errorf("reading the document: %w", err))
	}
	request, problems := tfjobadmin.Read(data)
	if request == nil {
		return nil, listed(problem.Malformed, problems)
	}
	for _, at := range request.Unknown {
		problems = append(problems, tfjobadmin.Problem{
			Field: at.String(), Detail: "unknown field", Remedy: "remove it",
		})
	}
	if len(problems) > 0 {
		return nil, invalid(problems)
	}
	for _, at := range request.ReadOnly {
		k.warn(at.String() + " is read-only: the server ignores it")
	}
	return request, nil
}

// warn adds a warning that Kubernetes' clients print, too.
func (k *call) warn(text string) {
	k.writer.Header().Add("Warning", `299 - "`+strings.ReplaceAll(text, `"`, `'`)+`"`)
}

// allowed checks a job against the configuration, before the cluster does.
func (h *Handler) allowed(k *call, request *tfjobadmin.Request, from tfjobadmin.Spec) tfjobadmin.Problems {
	var problems tfjobadmin.Problems
	if from.Partition != k.partition {
		problems = append(problems, tfjobadmin.Problem{
			Field:  request.At("spec.partition").String(),
			Detail: fmt.Sprintf("is %q, but the path has %q", from.Partition, k.partition),
			Remedy: "remove it, or send the request to the path of that partition",
		})
	}
	var ranks, gpus int64
	for _, replica := range from.Replicas {
		ranks += int64(replica.Count)
		gpus += int64(replica.Count) * replica.Resource.GPU
	}
	most := h.Config.Maximums
	for _, m := range []struct {
		what    string
		n, most int64
	}{{"ranks", ranks, int64(most.Replicas)}, {"GPUs", gpus, most.GPUs}} {
		if m.most > 0 && m.n > m.most {
			problems = append(problems, tfjobadmin.Problem{
				Field: request.At("spec.replicas").String(),
				Detail: fmt.Sprintf("the job requests %d %s, more than the configured maximum of %d", m.n,
					m.what, m.most),
				Remedy: "request fewer, or ask an admin for more (tfjob.maximums)",
			})
		}
	}
	return problems
}

// runtimeNamed returns a runtime of the configuration.
func (h *Handler) runtimeNamed(
	request *tfjobadmin.Request, name string,
) (tfjobadmin.Runtime, tfjobadmin.Problems) {
	runtime, known := h.Config.runtime(name)
	if known {
		return runtime, nil
	}
	p := tfjobadmin.Problem{
		Field: request.At("spec.runtime").String(), Detail: fmt.Sprintf("%q is not configured", name),
		Remedy: "use one of " + h.runtimeNames(),
	}
	if name == "" {
		p.Detail = "is missing"
	}
	if len(h.Config.Runtimes) == 0 {
		p.Remedy = "ask an admin to configure runtimes (tfjob.runtimes)"
	}
	return tfjobadmin.Runtime{}, tfjobadmin.Problems{p}
}

// maxNames in a remedy.
const maxNames = 20

func (h *Handler) runtimeNames() string {
	var names []string
	for i, r := range h.Config.Runtimes {
		if i == maxNames {
			return strings.Join(names, ", ") + fmt.Sprintf(" or %d more", len(h.Config.Runtimes)-maxNames)
		}
		names = append(names, fmt.Sprintf("%q", r.Name))
	}
	return strings.Join(names, ", ")
}
