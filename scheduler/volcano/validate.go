package volcano

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Validate implements scheduler.Backend. It refuses what the PodGroup's schema would reject, with the paths
// of the job's own fields. It cannot check whether a queue or a priority class exists.
func (Backend) Validate(g scheduler.Gang) field.ErrorList {
	var errs field.ErrorList
	if problems := validation.IsDNS1123Subdomain(g.Queue); g.Queue != "" && len(problems) > 0 {
		errs = append(errs, field.Invalid(field.NewPath(scheduler.PathQueue), g.Queue, fmt.Sprintf(
			"Volcano knows no queue of such a name (%s); use the name of a queue that `kubectl get "+
				"queues.scheduling.volcano.sh` lists",
			strings.Join(problems, "; "))))
	}
	if l := len(GroupName(g)); l > validation.DNS1123LabelMaxLength {
		errs = append(errs,
			field.TooLong(field.NewPath(scheduler.PathName), nil, validation.DNS1123LabelMaxLength))
		errs[len(errs)-1].Detail += "; use a shorter name"
	}
	return errs
}
