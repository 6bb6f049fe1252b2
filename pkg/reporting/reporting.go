// Package reporting answers one question: how does what the report server hears reach the controller, and what are the pods told of it?
//
//	agent ──▶ reportserver.Server ──▶ Inbox ──wakes, is read by──▶ controller
//	             └─ asks what a job means for a report: pkg/trainingjob
//
// It decides nothing: it only knows both sides, which do not know each other.
package reporting

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/pkg/controller"
	"mlplatform.example.com/trainingjob-operator/pkg/reportserver"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Reporting of one operator.
type Reporting struct {
	// Server that the manager starts; nil where it is off.
	Server *reportserver.Server
	// Agent is what the pods of jobs with checkpoints are told, asked for each pod anew since the CA rotates.
	Agent func() render.Agent
	// Reports is where the controller finds them; nil where the server is off.
	Reports controller.Reports
}

// Add the report server to a manager, unless the configuration has it off.
func Add(mgr manager.Manager, agent config.Agent, cfg config.Reports, registry prometheus.Registerer) (Reporting, error) {
	if !cfg.On() {
		return Reporting{Agent: func() render.Agent { return render.Agent{Image: agent.Image} }}, nil
	}
	reviews, err := authenticationclient.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return Reporting{}, fmt.Errorf("making a client for token reviews: %w", err)
	}
	inbox := reportserver.NewInbox(clock.RealClock{})
	server, err := reportserver.New(reportserver.Options{
		BindAddress: cfg.BindAddress, URL: cfg.URL, CertificateDir: cfg.CertificateDir, Audience: cfg.Audience,
		Elected: mgr.Elected(), Cache: mgr.GetCache(), Reviews: reviews.TokenReviews(), Desk: desk{}, Inbox: inbox,
		Clock: clock.RealClock{}, Registry: registry, Log: ctrl.Log.WithName("reports"),
	})
	if err != nil {
		return Reporting{}, fmt.Errorf("making the report server: %w", err)
	}
	if err := mgr.Add(server); err != nil {
		return Reporting{}, fmt.Errorf("adding the report server: %w", err)
	}
	told := func() render.Agent {
		return render.Agent{Image: agent.Image, ReportURL: server.URL(), ReportCA: string(server.CA()), Audience: cfg.Audience}
	}
	return Reporting{Server: server, Agent: told, Reports: mail{inbox}}, nil
}

// desk is what jobs mean for a report.
type desk struct{}

func (desk) Base(job *v1alpha1.TrainingJob) (checkpoint.URI, bool) {
	if spec.Checkpoints(job) == nil {
		return checkpoint.URI{}, false
	}
	base, err := spec.CheckpointURI(job)
	return base, err == nil
}

func (desk) Acknowledged(job *v1alpha1.TrainingJob, r *checkpoint.Report) bool {
	return decision.Acknowledged(job, r)
}

func (desk) Answer(job *v1alpha1.TrainingJob) checkpoint.Answer { return decision.Answer(job) }

// mail is the inbox in the controller's words.
type mail struct{ *reportserver.Inbox }

func (m mail) Latest(job types.UID) (observation.Reported, bool) {
	r, ok := m.Inbox.Latest(job)
	if !ok || r.Report == nil {
		return observation.Reported{}, false
	}
	reported := observation.Reported{Report: *r.Report, Received: r.Time}
	if c := r.Commit; c != nil && c.Attempt == reported.Attempt { // a later report may have told of an earlier one
		reported.Checkpoint, reported.Layout = &c.Save, c.Layout
	}
	return reported, true
}
