package logview

import (
	"embed"
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// CSS and Script of the page. Without the script it shows the last lines, and the user reloads it.
var (
	//go:embed logview.css
	CSS string
	//go:embed logview.js
	Script string
)

//go:embed templates
var files embed.FS

var pages = template.Must(template.ParseFS(files, "templates/*.html"))

// Page of a job's logs.
type Page struct {
	Namespace, Name string
	// Path of the page, and of the job's page.
	Path, JobPath string
	// Stream is the URL of new lines; empty: none.
	Stream string
	Query  Query
	Roles  []RoleChoice
	// Most lines that the form accepts.
	Most  int
	Lines []ShownLine
	// Notes about missing lines.
	Notes []string
	// Problems of logs that could not be read.
	Problems []RankProblem
	// One and Every are URLs: of one rank's log, and of the last lines of all. Next is that of the ranks
	// after the shown ones, or empty.
	One, Every, Next string
	// Title of the page.
	Title string
}

// RoleChoice is a role whose ranks can be chosen.
type RoleChoice struct {
	Name   v1alpha1.Role
	Last   int32
	Chosen bool
}

// ShownLine is a line of the page.
type ShownLine struct {
	// Rank that wrote it; empty on the page of one rank.
	Rank string
	Time string // empty: not shown, or unknown
	Text string
	Cut  int64
}

// RankProblem is why a rank's log could not be read.
type RankProblem struct {
	Rank    string
	Problem *problem.Problem
}

// Few is the number of ranks without a log that are listed; a longer list is folded.
func (p *Page) Few() int { return 4 }

// PageOfOne returns the page of the log of one rank. stream is the path of its stream.
func PageOfOne(job *v1alpha1.TrainingJob, q Query, path, jobPath, stream string, t *Tail) Page {
	p := pageOf(job, q, path, jobPath, maxLines)
	p.Title = name(q.Rank)
	for _, line := range t.Lines {
		p.Lines = append(p.Lines, shown(line, "", q.Times))
	}
	if t.Missed {
		p.Notes = append(p.Notes, "Earlier lines are left out: they are too large.")
	}
	if t.Problem != nil {
		p.Problems = []RankProblem{{name(t.Rank), t.Problem}}
	} else if !q.Previous {
		p.Stream = streamURL(job, q, stream, t.Behind.String())
	}
	return p
}

// streamURL returns the URL of a stream from a position. The UID comes last.
func streamURL(job *v1alpha1.TrainingJob, q Query, stream, after string) string {
	at := q.URL(stream) + "&" + url.Values{ParamUID: {string(job.UID)}}.Encode()
	if after != "" {
		at += "&" + url.Values{ParamAfter: {after}}.Encode()
	}
	return at
}

// PageOfAll returns the page of the last lines of many ranks. ranks is the number of read ones, next the
// first that was not read.
func PageOfAll(
	job *v1alpha1.TrainingJob, q Query, path, jobPath, stream string, t *Tails, ranks int, next *spec.RankRef,
) Page {
	p := pageOf(job, q, path, jobPath, maxLinesEach)
	p.Title = fmt.Sprintf("%d ranks", ranks)
	if ranks == 1 {
		p.Title = "1 rank"
	}
	if next != nil || q.Rank != first(job) {
		p.Title += " from " + name(q.Rank) + " on"
	}
	for _, line := range t.Lines {
		p.Lines = append(p.Lines, shown(line.Line, name(line.Rank), q.Times))
	}
	if len(t.Missed) > 0 {
		var names []string
		for _, rank := range t.Missed {
			names = append(names, name(rank))
		}
		p.Notes = append(p.Notes, "Some of the lines are left out, since they are too large: "+
			strings.Join(names, ", ")+".")
	}
	if !q.Previous {
		p.Stream = streamURL(job, q, stream, t.Behind.String())
	}
	for _, failed := range t.Failed {
		p.Problems = append(p.Problems, RankProblem{name(failed.Rank), failed.Problem})
	}
	if next != nil {
		behind := q
		behind.Rank = *next
		p.Next = behind.URL(path)
	}
	return p
}

func pageOf(job *v1alpha1.TrainingJob, q Query, path, jobPath string, most int) Page {
	p := Page{Namespace: job.Namespace, Name: job.Name, Path: path, JobPath: jobPath, Query: q, Most: most}
	for _, role := range spec.Roles(job) {
		p.Roles = append(p.Roles, RoleChoice{role.Name, role.Replicas - 1, role.Name == q.Rank.Role})
	}
	one, every := q, q
	one.All, one.Lines = false, defaultLines
	every.All, every.Lines, every.Previous = true, defaultLinesEach, false
	every.Rank = first(job)
	p.One, p.Every = one.URL(path), every.URL(path)
	return p
}

func name(r spec.RankRef) string { return string(r.Role) + " " + strconv.Itoa(int(r.Index)) }

func shown(l Line, rank string, times bool) ShownLine {
	s := ShownLine{Rank: rank, Text: l.Text, Cut: l.Cut}
	if times && !l.Time.IsZero() {
		s.Time = l.Time.UTC().Format(time.RFC3339)
	}
	return s
}

// Body of the page, for a layout.
func (p *Page) Body() (template.HTML, error) {
	var b strings.Builder
	if err := pages.ExecuteTemplate(&b, "logs", p); err != nil {
		return "", fmt.Errorf("rendering logs: %w", err)
	}
	return template.HTML(b.String()), nil
}
