package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/pkg/controller"
	"mlplatform.example.com/trainingjob-operator/pkg/reportserver"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
)

// addReports adds the report server to a manager. It returns what the pods of jobs with checkpoints are told, asked for each pod anew
// since the CA rotates, and where the controller finds reports: nil where the server is off.
func addReports(mgr manager.Manager, agent config.Agent, cfg config.Reports) (func() trainingjob.Agent, controller.Reports, error) {
	if !cfg.On() {
		return func() trainingjob.Agent { return trainingjob.Agent{Image: agent.Image} }, nil, nil
	}
	reviews, err := authenticationclient.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, nil, fmt.Errorf("making a client for token reviews: %w", err)
	}
	inbox := reportserver.NewInbox(clock.RealClock{})
	server, err := reportserver.New(reportserver.Options{
		BindAddress: cfg.BindAddress, URL: cfg.URL, CertificateDir: cfg.CertificateDir, Audience: cfg.Audience,
		Elected: mgr.Elected(), Cache: mgr.GetCache(), Reviews: reviews.TokenReviews(), Desk: reportDesk{}, Inbox: inbox,
		Clock: clock.RealClock{}, Registry: metrics.Registry, Log: ctrl.Log.WithName("reports"),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("making the report server: %w", err)
	}
	if err := mgr.Add(server); err != nil {
		return nil, nil, fmt.Errorf("adding the report server: %w", err)
	}
	told := func() trainingjob.Agent {
		return trainingjob.Agent{Image: agent.Image, ReportURL: server.URL(), ReportCA: string(server.CA()), Audience: cfg.Audience}
	}
	return told, mail{inbox}, nil
}

// reportDesk is what jobs mean for a report.
type reportDesk struct{}

func (reportDesk) Base(job *v1alpha1.TrainingJob) (checkpoint.URI, bool) {
	if trainingjob.Checkpoints(job) == nil {
		return checkpoint.URI{}, false
	}
	base, err := trainingjob.CheckpointURI(job)
	return base, err == nil
}

func (reportDesk) Acknowledged(job *v1alpha1.TrainingJob, r *checkpoint.Report) bool {
	return trainingjob.Acknowledged(job, r)
}

func (reportDesk) Answer(job *v1alpha1.TrainingJob) checkpoint.Answer { return trainingjob.Answer(job) }

// mail is the inbox in the controller's words.
type mail struct{ *reportserver.Inbox }

func (m mail) Latest(job types.UID) (trainingjob.Reported, bool) {
	r, ok := m.Inbox.Latest(job)
	if !ok || r.Report == nil {
		return trainingjob.Reported{}, false
	}
	reported := trainingjob.Reported{Report: *r.Report, Received: r.Time}
	if c := r.Commit; c != nil && c.Attempt == reported.Attempt { // a later report may have told of an earlier one
		reported.Checkpoint, reported.Layout = &c.Save, c.Layout
	}
	return reported, true
}
