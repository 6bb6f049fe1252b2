package board

import (
	"context"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/boundedyaml"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/listview"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
)

// submission is the page for new jobs.
type submission struct {
	Namespace input
	Inputs    []input
	Manifest  string
	// ManifestErrors have the lines of the manifest; OtherErrors belong to no input of the form.
	ManifestErrors []lineError
	OtherErrors    []problem.Error
	// Accepted: the cluster would accept the job.
	Accepted           bool
	Warnings           []string
	Namespaces, Queues []string
	CSRFField, CSRF    string
}

// lineError is an error with its line of the manifest; 0 for none.
type lineError struct {
	problem.Error
	Line int
}

// namespace applies to the form and the manifest.
func namespace() input {
	return input{
		Key: fieldNamespace, Label: "Namespace", Paths: []string{"metadata.namespace", "path.namespace"},
		Suggestions: "namespaces",
	}
}

// submission with the typed values.
func (b *Board) submission(r *http.Request, typed url.Values) submission {
	s := submission{
		Namespace: namespace(), Inputs: inputs(framework.Names(), b.GPU), Manifest: typed.Get(fieldManifest),
		CSRFField: CSRFField, CSRF: b.CSRF(r),
	}
	s.Namespace.Value = typed.Get(fieldNamespace)
	for i := range s.Inputs {
		s.Inputs[i].Value = typed.Get(s.Inputs[i].Key)
	}
	// Suggestions are optional: on an error there are none.
	jobs, err := b.Jobs.VisibleJobs(r.Context(), r.PathValue("cluster"), "")
	if err != nil {
		return s
	}
	namespaces, queues := map[string]bool{}, map[string]bool{}
	for _, job := range jobs {
		namespaces[job.Namespace] = true
		queues[history.QueueOf(job)] = true
	}
	delete(queues, "")
	s.Namespaces, s.Queues = slices.Sorted(maps.Keys(namespaces)), slices.Sorted(maps.Keys(queues))
	return s
}

// submitPage is the empty form.
func (b *Board) submitPage(r *http.Request) (view, error) {
	if _, err := queryOf(r); err != nil {
		return view{}, err
	}
	if err := b.knownCluster(r); err != nil {
		return view{}, err
	}
	return b.submission(r, url.Values{fieldFramework: {"pytorch"}, fieldWorkers: {"1"}}).view(0), nil
}

func (b *Board) knownCluster(r *http.Request) error {
	clusters, err := b.Jobs.Clusters(r.Context())
	if err != nil {
		return err
	}
	for _, c := range clusters {
		if c.Name == r.PathValue("cluster") {
			return nil
		}
	}
	return problem.Newf(problem.NotFound, "there is no cluster %s", r.PathValue("cluster")).
		WithRemedy("choose one of the menu").About("path.cluster")
}

func (s submission) view(status int) view {
	return view{title: "Submit a job", status: status, body: func([]fragment.Fragment) (template.HTML, error) {
		return execute("submit", s)
	}}
}

// Buttons of the form.
const (
	doShow           = "show"
	doCheck          = "check"
	doSubmit         = "submit"
	doCheckManifest  = "check-manifest"
	doSubmitManifest = "submit-manifest"
)

// submit checks or submits a job. Errors are shown next to their inputs, and the form keeps its values.
func (b *Board) submit(w http.ResponseWriter, r *http.Request) {
	if err := b.knownCluster(r); err != nil {
		b.fail(w, r, err)
		return
	}
	s := b.submission(r, r.PostForm)
	do := r.PostFormValue("do")
	manifest, at := []byte(s.Manifest), strings.TrimSpace(s.Namespace.Value)
	switch do {
	case doShow, doCheck, doSubmit:
		made, errs := fromForm(r.PostForm, b.GPU)
		if len(errs) > 0 {
			s.OtherErrors = assignErrors(s.Inputs, errs)
			b.show(w, r, s.view(http.StatusUnprocessableEntity), false)
			return
		}
		if do == doShow {
			s.Manifest = string(made)
			b.show(w, r, s.view(0), false)
			return
		}
		manifest = made
	case doCheckManifest, doSubmitManifest:
		if at == "" {
			var err error
			if at, err = b.namespaceOf(r.Context(), manifest); err != nil {
				b.fail(w, r, err)
				return
			}
		}
	default:
		b.fail(w, r, problem.Newf(problem.Invalid, "there is no button %q", do).About("form.do").
			WithRemedy("use the buttons of the page"))
		return
	}
	out, err := b.create(r, at, manifest, do == doCheck || do == doCheckManifest)
	if err != nil {
		p := problem.Of(err)
		b.log(r, p)
		if err := b.blame(r.Context(), &s, p, do == doCheckManifest || do == doSubmitManifest); err != nil {
			b.fail(w, r, err)
			return
		}
		b.show(w, r, s.view(p.Status), false)
		return
	}
	if do == doCheck || do == doCheckManifest {
		s.Accepted, s.Warnings = true, warningTexts(out.Warning)
		b.show(w, r, s.view(0), false)
		return
	}
	to := listview.JobURL(r.PathValue("cluster"), at, out.Body.TrainingJob().Name)
	b.done(w, r, "submit", out.Warning, to+"?done=submit", to)
}

func (b *Board) create(r *http.Request, namespace string, manifest []byte, check bool) (
	*rest.CreateOutput, error,
) {
	if namespace == "" {
		return nil, problem.New(problem.Invalid, "the job has no namespace", "give one").About("path.namespace")
	}
	in := &rest.CreateInput{ContentType: "application/yaml", RawBody: manifest}
	in.Cluster, in.Namespace = r.PathValue("cluster"), namespace
	if check {
		in.DryRun.DryRun = "All"
	}
	return b.Changes.CreateJob(r.Context(), in)
}

// blame assigns a problem to inputs or to lines of the manifest.
func (b *Board) blame(ctx context.Context, s *submission, p *problem.Problem, manifest bool) error {
	above := []input{s.Namespace}
	others := assignErrors(above, errorsOf(p))
	s.Namespace = above[0]
	if !manifest {
		s.OtherErrors = assignErrors(s.Inputs, others)
		return nil
	}
	leave, err := b.BeginDecoding(ctx, boundedyaml.Weight([]byte(s.Manifest)))
	if err != nil {
		return err
	}
	defer leave()
	document, _ := boundedyaml.Parse([]byte(s.Manifest)) // the problem reports its error
	for _, e := range append(others, s.Namespace.Errors...) {
		line := lineOf(document, e.Field)
		if line > 0 || !slices.Contains(s.Namespace.Errors, e) {
			s.ManifestErrors = append(s.ManifestErrors, lineError{e, line})
		}
	}
	return nil
}

// String of an error, as shown.
func (e lineError) String() string {
	text := e.Detail
	if e.Field != "" && e.Field != "body" {
		text = e.Field + ": " + text
	}
	if e.Line > 0 {
		text = fmt.Sprintf("line %d: %s", e.Line, text)
	}
	return text
}
