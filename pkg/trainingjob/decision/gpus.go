package decision

import (
	"fmt"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
)

// countGPUs records how many GPUs the gang requests, or why that is not known.
func countGPUs(o *observation.Observation, p *Plan) {
	p.Status.GPUs, p.Status.GPUsUnknown = o.GPUCount()
	ref, spans := o.Devices.SpansDomains(o.Job)
	if !spans {
		return
	}
	p.warnOnce("MaySpanDomains", "Queue", fmt.Sprintf("%s claims a channel of class %s, and nothing keeps the "+
		"ranks in one NVLink domain: set runPolicy.schedulingPolicy.topology {mode: Within, key: "+
		"nvidia.com/gpu.clique}", ref, render.ChannelClass))
}

// followGPUs counts again while the number is not known: a template of claims can appear after the job. It
// reports whether it changed the status.
func followGPUs(o *observation.Observation, p *Plan) bool {
	st := &p.Status
	if st.GPUsUnknown == "" || st.Phase.Finished() || o.SpecChanged() || o.SpecInvalid() {
		return false
	}
	before := st.GPUsUnknown
	countGPUs(o, p)
	return st.GPUsUnknown != before
}
