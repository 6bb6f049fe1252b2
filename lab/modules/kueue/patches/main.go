// Command patches writes what Kueue's own code sends to the API server for the Workloads in a folder, for
// the tests of scheduler/kueue to compare with. It lives here because it needs Kueue's packages, which our
// module must not require:
//
//	CGO_ENABLED=0 go run -C lab/modules/kueue -trimpath ./patches "$PWD/scheduler/kueue/testdata/patches"
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/workload"
	"sigs.k8s.io/kueue/pkg/workload/finish"
	"sigs.k8s.io/kueue/pkg/workload/patching"
	"sigs.k8s.io/yaml"
)

// now of every patch; the tests have the same.
var now = clocktesting.NewFakeClock(time.Date(2026, 11, 1, 13, 0, 0, 0, time.UTC))

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		for name, send := range map[string]func(context.Context, client.Client, *kueue.Workload, clock.Clock) error{
			"handback": handBack, "finish": finished, "ready": ready, "reclaim": reclaim,
			"open": openGate,
		} {
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			wl := &kueue.Workload{}
			if err := yaml.UnmarshalStrict(content, wl); err != nil {
				return err
			}
			if waits := wl.Status.Admission == nil; waits != (name == "open") {
				continue
			}
			sent := &sink{}
			if err := send(context.Background(), sent, wl, now); err != nil {
				return err
			}
			if sent.body == nil {
				continue
			}
			if err := os.WriteFile(strings.TrimSuffix(file, ".yaml")+"."+name+".json", sent.body, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// handBack is what JobReconciler.ReconcileGenericJob does under "6. handle eviction", by the same calls: it
// is a closure there and cannot be called.
func handBack(ctx context.Context, c client.Client, wl *kueue.Workload, clk clock.Clock) error {
	evicted := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	if evicted == nil || evicted.Status != metav1.ConditionTrue || !workload.HasQuotaReservation(wl) {
		return nil
	}
	return patching.PatchAdmissionStatus(ctx, c, wl, clk, func(wl *kueue.Workload) (bool, error) {
		requeue := evicted.Reason == kueue.WorkloadEvictedByPreemption ||
			evicted.Reason == kueue.WorkloadEvictedDueToNodeFailures
		workload.SetRequeuedCondition(wl, evicted.Reason, evicted.Message, requeue)
		// Kueue leaves this one time to the machine's clock.
		apimeta.FindStatusCondition(wl.Status.Conditions,
			kueue.WorkloadRequeued).LastTransitionTime = metav1.NewTime(clk.Now())
		reason := workload.UnadmittedWorkloadReasonWithFallback(kueue.WorkloadQuotaReservedReasonPendingEvaluation,
			kueue.WorkloadPending)
		workload.UnsetQuotaReservationWithCondition(wl, reason, evicted.Message, clk.Now())
		return true, nil
	})
}

func finished(ctx context.Context, c client.Client, wl *kueue.Workload, clk clock.Clock) error {
	return finish.Finish(ctx, c, wl, kueue.WorkloadFinishedReasonSucceeded, "4/4 ranks succeeded", clk)
}

func ready(ctx context.Context, c client.Client, wl *kueue.Workload, clk clock.Clock) error {
	return workload.SetConditionAndUpdate(ctx, c, wl, kueue.WorkloadPodsReady, metav1.ConditionTrue,
		kueue.WorkloadStarted,
		"All pods reached readiness and the workload is running", constants.JobControllerName, clk)
}

// openGate is what an owner of a preemption gate does (pkg/controller/admissionchecks/multikueue).
func openGate(ctx context.Context, c client.Client, wl *kueue.Workload, clk clock.Clock) error {
	return patching.PatchAdmissionStatus(ctx, c, wl, clk, func(wl *kueue.Workload) (bool, error) {
		return workload.OpenPreemptionGate(wl, wl.Spec.PreemptionGates[0].Name, metav1.NewTime(clk.Now())), nil
	})
}

func reclaim(ctx context.Context, c client.Client, wl *kueue.Workload, _ clock.Clock) error {
	return workload.UpdateReclaimablePods(ctx, c, wl,
		[]kueue.ReclaimablePod{{Name: wl.Spec.PodSets[0].Name, Count: 1}})
}

// sink keeps the one patch that is sent: its owner, its subresource and its body.
type sink struct {
	client.Client
	body []byte
}

func (s *sink) Status() client.SubResourceWriter { return status{sink: s} }

type status struct {
	client.SubResourceWriter
	sink *sink
}

func (s status) Patch(_ context.Context, obj client.Object, patch client.Patch,
	opts ...client.SubResourcePatchOption) error {
	options := &client.SubResourcePatchOptions{}
	for _, o := range opts {
		o.ApplyToSubResourcePatch(options)
	}
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	s.sink.body, err = json.MarshalIndent(map[string]any{
		"type": patch.Type(), "fieldOwner": options.FieldManager, "force": options.Force,
		"body": json.RawMessage(data),
	}, "", "  ")
	s.sink.body = append(s.sink.body, '\n')
	return err
}
