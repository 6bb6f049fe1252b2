package main

import (
	"fmt"

	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/pkg/reportserver"
)

// addReports adds the report server to a manager; where it is off both results are nil. The pods are given the server's URL, CA and the
// configured audience; the controller watches the inbox and asks it what is known of a job.
func addReports(mgr manager.Manager, cfg config.Reports, desk reportserver.Desk) (*reportserver.Server, *reportserver.Inbox, error) {
	if !cfg.On() {
		return nil, nil, nil
	}
	reviews, err := authenticationclient.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, nil, fmt.Errorf("making a client for token reviews: %w", err)
	}
	inbox := reportserver.NewInbox(clock.RealClock{})
	server, err := reportserver.New(reportserver.Options{
		BindAddress: cfg.BindAddress, URL: cfg.URL, CertificateDir: cfg.CertificateDir, Audience: cfg.Audience,
		Elected: mgr.Elected(), Cache: mgr.GetCache(), Reviews: reviews.TokenReviews(), Desk: desk, Inbox: inbox,
		Clock: clock.RealClock{}, Registry: metrics.Registry, Log: ctrl.Log.WithName("reports"),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("making the report server: %w", err)
	}
	if err := mgr.Add(server); err != nil {
		return nil, nil, fmt.Errorf("adding the report server: %w", err)
	}
	return server, inbox, nil
}

// heartbeat is how often rank 0 reports unless it has news, in seconds. A command reaches it that late.
const heartbeat = 10

// reportDesk is what jobs mean for a report. This version of the API has no place for checkpoints: a commit is refused.
type reportDesk struct{}

func (reportDesk) Base(*v1alpha1.TrainingJob) (checkpoint.URI, bool) { return checkpoint.URI{}, false }

func (reportDesk) Acknowledged(*v1alpha1.TrainingJob, *checkpoint.Report) bool { return true }

func (reportDesk) Answer(*v1alpha1.TrainingJob) checkpoint.Answer {
	return checkpoint.Answer{Command: checkpoint.CommandNone, MinIntervalSeconds: heartbeat}
}
