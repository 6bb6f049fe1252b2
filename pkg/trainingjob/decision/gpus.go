package decision

import "mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"

// countGPUs records how many GPUs the gang requests, or why that is not known.
func countGPUs(o *observation.Observation, p *Plan) {
	p.Status.GPUs, p.Status.GPUsUnknown = o.GPUCount()
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
