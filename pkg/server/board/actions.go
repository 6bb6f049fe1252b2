package board

import (
	"net/http"
	"strconv"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// doneWords confirm an action on the page that follows it.
var doneWords = map[string]string{
	string(rest.Suspend): "The job is being suspended: it saves a checkpoint if it can, and releases its " +
		"nodes and quota.",
	string(rest.Resume):  "The job is resumed: it is queued again.",
	string(rest.Restart): "The job is restarted: a new attempt begins from its last checkpoint.",
	"submit":             "The job was submitted.",
	"delete":             "The job was deleted: its ranks are being stopped.",
}

// button of an action. Its form has the UID, so that the action applies to the job that was shown.
type button struct {
	Label, Href, Title string
	// Confirm: the button leads to a page that asks for confirmation.
	Confirm bool
}

// jobActions are the actions that the caller may take on a job.
type jobActions struct {
	UID     string
	Buttons []button
	// Unknown is why the rights of the caller are unknown, or empty.
	Unknown string
}

// actions that the caller may take and that have an effect.
func (b *Board) actions(r *http.Request, job *v1alpha1.TrainingJob) (fragment.Fragment, error) {
	a := jobActions{UID: string(job.UID)}
	at := jobPath(r)
	change, err := b.may(r.Context(), at, "patch")
	remove := false
	if err == nil {
		remove, err = b.may(r.Context(), at, "delete")
	}
	if err != nil {
		p := problem.Of(err)
		b.log(r, p)
		a.Unknown, change, remove = p.Error(), false, false
	}
	a.Buttons = buttons(job, jobURL(r), change, remove)
	return fragment.Render(templates, "job-actions", "actions", "job-actions", a)
}

// buttons of a job by its state and the caller's rights.
func buttons(job *v1alpha1.TrainingJob, url string, change, remove bool) []button {
	var all []button
	if job.DeletionTimestamp != nil {
		return nil
	}
	if change && !job.Status.Phase.Finished() {
		if spec.Suspended(job) {
			all = append(all, button{Label: "Resume", Href: url + "/resume", Title: "queue it again"})
		} else {
			all = append(all,
				button{Label: "Suspend", Href: url + "/suspend", Title: "release nodes and quota until it is resumed"},
				button{Label: "Restart", Href: url + "/restart", Title: "start a new attempt from a checkpoint"})
		}
	}
	if remove {
		all = append(all, button{Label: "Delete…", Href: url + "/delete", Confirm: true})
	}
	return all
}

// uidOf returns the UID of the job that a form was shown for.
func uidOf(r *http.Request) (rest.IfMatch, error) {
	uid := r.PostFormValue("uid")
	if uid == "" {
		return rest.IfMatch{}, problem.New(problem.Invalid, "the form has no UID of a job",
			"use the buttons on the job's page").About("form.uid")
	}
	return rest.IfMatch{IfMatch: strconv.Quote(uid)}, nil
}

// act takes an action on a job.
func (b *Board) act(w http.ResponseWriter, r *http.Request, action rest.Action) {
	only, err := uidOf(r)
	if err != nil {
		b.fail(w, r, err)
		return
	}
	out, err := b.Changes.ActOnJob(r.Context(), action, &rest.ActionInput{JobPath: jobPath(r), IfMatch: only})
	if err != nil {
		b.fail(w, r, err)
		return
	}
	b.done(w, r, string(action), out.Warning, jobURL(r)+"?done="+string(action), jobURL(r))
}

// deletion asks for confirmation.
type deletion struct {
	Namespace, Name, URL, UID string
	Phase                     v1alpha1.Phase
	CSRFField, CSRF           string
}

func (b *Board) confirmDelete(r *http.Request) (view, error) {
	if _, err := queryOf(r); err != nil {
		return view{}, err
	}
	out, err := b.Jobs.GetJob(r.Context(), &rest.GetInput{JobPath: jobPath(r)})
	if err != nil {
		return view{}, err
	}
	job := out.Body.TrainingJob()
	d := deletion{
		Namespace: job.Namespace, Name: job.Name, URL: jobURL(r), UID: string(job.UID), Phase: job.Status.Phase,
		CSRFField: CSRFField, CSRF: b.CSRF(r),
	}
	return shown("Delete "+job.Namespace+"/"+job.Name, "confirm", d, 0), nil
}

func (b *Board) delete(w http.ResponseWriter, r *http.Request) {
	only, err := uidOf(r)
	if err != nil {
		b.fail(w, r, err)
		return
	}
	out, err := b.Changes.DeleteJob(r.Context(), &rest.DeleteInput{JobPath: jobPath(r), IfMatch: only})
	if err != nil {
		b.fail(w, r, err)
		return
	}
	jobs := clusterURL(r.PathValue("cluster")) + "/jobs"
	b.done(w, r, "delete", out.Warning, jobs, jobs)
}

// done redirects to the page that shows the change. If the cluster returned warnings, a page with them comes
// first.
func (b *Board) done(w http.ResponseWriter, r *http.Request, what string, warnings []string, to, on string) {
	if len(warnings) == 0 {
		http.Redirect(w, r, to, http.StatusSeeOther)
		return
	}
	v := shown("Done", "done", struct {
		Done     string
		Warnings []string
		On       string
	}{doneWords[what], warningTexts(warnings), on}, 0)
	b.show(w, r, v, false)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
