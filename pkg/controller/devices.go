package controller

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// devices returns what the ranks of a job request by device classes. Templates of claims come from the state
// of the cluster. The claims that ranks share are few, and are read live.
func (g *gatherer) devices(ctx context.Context, job *v1alpha1.TrainingJob) render.Devices {
	d := render.Devices{GPUClasses: g.gpuDeviceClasses}
	state := g.explainer.state
	if state == nil || job.Status.Phase.Finished() {
		return d
	}
	for _, ref := range render.ClaimRefs(job) {
		if d.Claims == nil {
			d.Claims = map[render.ClaimRef]render.DeviceClaim{}
		}
		if !state.ServesClaims() {
			d.Claims[ref] = render.DeviceClaim{
				Problem: "is not known: the cluster does not serve resource.k8s.io/v1",
			}
			continue
		}
		if !ref.Template {
			d.Claims[ref] = g.sharedClaim(ctx, job, ref.Name)
			continue
		}
		requests, exists, known := state.ClaimTemplate(
			types.NamespacedName{Namespace: job.Namespace, Name: ref.Name})
		if known {
			d.Claims[ref] = deviceClaim(requests, exists)
		}
	}
	return d
}

func deviceClaim(requests []scheduler.DeviceRequest, exists bool) render.DeviceClaim {
	if !exists {
		return render.DeviceClaim{Problem: "does not exist"}
	}
	return render.DeviceClaim{Requests: requests}
}

// sharedClaim returns a ResourceClaim as it was read not long ago.
func (g *gatherer) sharedClaim(
	ctx context.Context, job *v1alpha1.TrainingJob, name string,
) render.DeviceClaim {
	if claim, known := g.states.DeviceClaim(job.UID, name); known {
		return claim
	}
	read := &resourcev1.ResourceClaim{}
	err := g.live.Get(ctx, types.NamespacedName{Namespace: job.Namespace, Name: name}, read)
	claim := deviceClaim(scheduler.DeviceRequestsOf(&read.Spec), !apierrors.IsNotFound(err))
	if err != nil && !apierrors.IsNotFound(err) {
		log.FromContext(ctx).V(1).Info("Cannot read a claim for devices", "claim", name, "error", err.Error())
		claim = render.DeviceClaim{Problem: "cannot be read by the operator"}
	}
	g.states.SetDeviceClaim(job.UID, name, claim)
	return claim
}
