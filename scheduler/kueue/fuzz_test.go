package kueue_test

import (
	"runtime"
	"strconv"
	"testing"

	"k8s.io/utils/ptr"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
)

// FuzzTopology: values of Kueue's annotations are refused or reach Kueue unchanged. An empty text means no
// annotation.
func FuzzTopology(f *testing.F) {
	const rack, host = "cloud.example.com/rack", "kubernetes.io/hostname"
	f.Add(rack, "", "", "", "", "", "", true)
	f.Add("", rack, "", host, "2", "", "", false)
	f.Add("", "", "true", "", "", "", "", true)
	f.Add("", rack, "", "", "", "", "pair", false)
	f.Add("", "", "", "", "", `[{"topology":"`+rack+`","size":4},{"topology":"`+host+`","size":2}]`, "", false)
	f.Add("a rack", rack, "maybe", host, "-1", "[[[[", "7", false)
	f.Fuzz(func(t *testing.T, required, preferred, free, slice, size, layers, group string, job bool) {
		g := gang()
		written := 0
		for key, value := range map[string]string{
			kueuev1beta2.PodSetRequiredTopologyAnnotation:                 required,
			kueuev1beta2.PodSetPreferredTopologyAnnotation:                preferred,
			kueuev1beta2.PodSetUnconstrainedTopologyAnnotation:            free,
			kueuev1beta2.PodSetSliceRequiredTopologyAnnotation:            slice,
			kueuev1beta2.PodSetSliceSizeAnnotation:                        size,
			kueuev1beta2.PodSetSliceRequiredTopologyConstraintsAnnotation: layers,
			kueuev1beta2.PodSetGroupName:                                  group,
		} {
			written += len(value)
			switch {
			case value == "":
			case job:
				onJob(key, value)(&g)
			default:
				g.Roles[0].Template.Annotations[key] = value
			}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		refused := len(kueue.New(kueue.Options{}).Validate(g)) > 0
		request := only(t, g).Spec.PodSets[0].TopologyRequest
		runtime.ReadMemStats(&after)
		if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(4<<20+1024*written); got > limit {
			t.Errorf("%d bytes made it allocate %d", written, got)
		}
		if refused {
			return
		}
		if ptr.Deref(request.Required, "") != required || ptr.Deref(request.Preferred, "") != preferred {
			t.Errorf("requested %q and %q, parsed as %+v", required, preferred, request)
		}
		anywhere, err := strconv.ParseBool(free)
		if free != "" && (err != nil || ptr.Deref(request.Unconstrained, !anywhere) != anywhere) {
			t.Errorf("unconstrained is %q, parsed as %+v", free, request)
		}
		if ptr.Deref(request.PodSetSliceRequiredTopology, "") != slice ||
			ptr.Deref(request.PodSetGroupName, "") != group {
			t.Errorf("slices of %q and group %q parsed as %+v", slice, group, request)
		}
		n, err := strconv.Atoi(size)
		if size != "" && (err != nil || int(ptr.Deref(request.PodSetSliceSize, 0)) != n) {
			t.Errorf("size %q parsed as %+v", size, request)
		}
		if (layers != "") != (len(request.PodsetSliceRequiredTopologyConstraints) > 0) {
			t.Errorf("%q parsed as %+v", layers, request)
		}
	})
}
