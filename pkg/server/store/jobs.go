package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// MaxPage is the maximum number of jobs in a page.
const MaxPage = 500

// maxBranches is the maximum number of sorted lists in one statement. SQLite allows 500 parts of a UNION.
const maxBranches = 200

// JobsQuery requests jobs. Empty fields do not restrict.
type JobsQuery struct {
	// Cluster is required.
	Cluster string
	// Namespaces to list. Nil: all; empty: none.
	Namespaces []history.Namespace
	Name       string
	User       string
	Queue      string
	Phases     []v1alpha1.Phase
	// From and To bound the creation time; To is excluded. Zero: no bound.
	From, To time.Time
	// Deleted: false for jobs not known to be deleted, true for deleted jobs. Nil: both.
	Deleted *bool
	// Limit of the page, from 1 to MaxPage; 0: MaxPage.
	Limit int
	// Cursor of the previous page; empty for the first one.
	Cursor string
}

// JobsPage is a part of a list of jobs, the newest first.
type JobsPage struct {
	// Jobs without their manifests.
	Jobs []history.Job
	// Next is the cursor of the next page; empty at the end.
	Next string
}

// Jobs lists jobs by page. Jobs that are recorded meanwhile do not change later pages. Errors: ErrBadCursor,
// ErrBadQuery.
func (s *Store) Jobs(ctx context.Context, q JobsQuery) (JobsPage, error) {
	if q.Cluster == "" {
		return JobsPage{}, fmt.Errorf("%w: cluster: required", ErrBadQuery)
	}
	if q.Limit < 0 || q.Limit > MaxPage {
		return JobsPage{}, fmt.Errorf("%w: limit: %d is not between 1 and %d", ErrBadQuery, q.Limit, MaxPage)
	}
	if q.Limit == 0 {
		q.Limit = MaxPage
	}
	if q.Namespaces != nil && len(q.Namespaces) == 0 {
		return JobsPage{}, nil
	}
	text, args, err := q.statement()
	if err != nil {
		return JobsPage{}, err
	}
	var page JobsPage
	var last cursor
	more := false
	err = query(ctx, s.reads, func(rows *sql.Rows) error {
		if len(page.Jobs) == q.Limit {
			more = true
			return nil
		}
		j, err := scanJob(rows)
		if err != nil {
			return err
		}
		page.Jobs = append(page.Jobs, j.job)
		last = cursor{Created: j.job.Created.Unix(), UID: string(j.job.UID), Query: q.digest()}
		return nil
	}, text, args...)
	if err != nil {
		return JobsPage{}, fmt.Errorf("listing jobs of the history: %w", err)
	}
	if more {
		page.Next = last.encode()
	}
	return page, nil
}

// statement reads one job more than the page has. An index returns the jobs of one namespace or one phase in
// order, but not those of several: each of several is a list of its own, which is read no further than the
// page needs.
func (q JobsQuery) statement() (string, []any, error) {
	args := []any{q.Cluster}
	common, err := q.conditions(&args)
	if err != nil {
		return "", nil, err
	}
	namespaces, phases := []history.Namespace{{}}, []string{""}
	if q.Namespaces != nil {
		namespaces = uniqueNamespaces(q.Namespaces)
	}
	if len(q.Phases) > 0 {
		phases = phases[:0]
		for _, p := range q.Phases {
			phases = append(phases, string(p))
		}
		phases = unique(phases)
	}
	from := "jobs"
	if len(namespaces) > maxBranches/len(phases) && q.Namespaces != nil { // the caller sees nearly everything
		from += joinNamespaces(&args, namespaces, "created")
		namespaces = []history.Namespace{{}}
	}
	order := fmt.Sprintf(` ORDER BY created DESC, uid DESC LIMIT %d`, q.Limit+1)
	var branches []string
	for _, ns := range namespaces {
		for _, phase := range phases {
			where := common
			if ns.Name != "" {
				where += inNamespace(&args, ns, "created")
			}
			if len(q.Phases) > 0 {
				where += restrict(&args, "phase", []string{phase})
			}
			branches = append(branches, `SELECT `+jobColumns+`, created, uid FROM `+from+` WHERE `+where+order)
		}
	}
	for i, b := range branches {
		branches[i] = `SELECT * FROM (` + b + `) AS b` + fmt.Sprint(i)
	}
	all := strings.Join(branches, " UNION ALL ")
	return `SELECT job, '' AS manifest, changed FROM (` + all + `) AS listed` + order, args, nil
}

// conditions returns the conditions of all branches.
func (q JobsQuery) conditions(args *[]any) (string, error) {
	all := []string{"cluster = $1", "resource_version <> ''"}
	add := func(condition string, values ...any) {
		for _, v := range values {
			*args = append(*args, v)
			condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(*args)), 1)
		}
		all = append(all, condition)
	}
	for _, c := range []struct{ field, column, value string }{
		{"name", "name", q.Name}, {"user", "user_name", q.User}, {"queue", "queue", q.Queue},
	} {
		if !utf8.ValidString(c.value) || strings.Contains(c.value, "\x00") {
			return "", fmt.Errorf("%w: %s: use valid UTF-8 without NUL", ErrBadQuery, c.field)
		}
		if c.value != "" {
			add(c.column+" = ?", c.value)
		}
	}
	if !q.From.IsZero() {
		add("created >= ?", q.From.Unix())
	}
	if !q.To.IsZero() {
		add("created < ?", q.To.Unix())
	}
	if q.Deleted != nil && *q.Deleted {
		add("exists_still = 0")
	} else if q.Deleted != nil {
		add("exists_still = 1") // the index has this condition
	}
	if q.Cursor != "" {
		c, err := decodeCursor(q.Cursor, q.digest())
		if err != nil {
			return "", err
		}
		add("(created, uid) < (?, ?)", c.Created, c.UID)
	}
	return strings.Join(all, " AND "), nil
}

func unique(values []string) []string {
	values = slices.Clone(values)
	slices.Sort(values)
	return slices.Compact(values)
}

// Job returns the record of a job, without its samples. Error: ErrNotFound.
func (s *Store) Job(ctx context.Context, key history.Key) (history.Record, error) {
	stored, err := load(ctx, s.reads, []history.Key{key}, nil)
	if err != nil {
		return history.Record{}, fmt.Errorf("reading a job of the history: %w", err)
	}
	r := stored[key].record
	if r.Job.ResourceVersion == "" {
		return history.Record{}, ErrNotFound
	}
	return r, nil
}

// JobNamed returns the record of the newest job with a name, without its samples. Error: ErrNotFound.
func (s *Store) JobNamed(ctx context.Context, cluster, namespace, name string) (history.Record, error) {
	page, err := s.Jobs(ctx, JobsQuery{
		Cluster: cluster, Namespaces: []history.Namespace{{Name: namespace}}, Name: name, Limit: 1,
	})
	if err != nil {
		return history.Record{}, err
	}
	if len(page.Jobs) == 0 {
		return history.Record{}, ErrNotFound
	}
	return s.Job(ctx, page.Jobs[0].Key)
}

// Unfinished calls fn for each job of a cluster that is not known to be deleted, in any order, until fn
// returns an error. It holds no lock and no connection while fn runs.
func (s *Store) Unfinished(
	ctx context.Context, cluster string, fn func(key history.Key, namespace, name string) error,
) error {
	type job struct {
		created         int64
		uid             string
		namespace, name string
	}
	created, uid := int64(-1<<62), ""
	for {
		var page []job
		err := query(ctx, s.reads, func(rows *sql.Rows) error {
			var j job
			err := rows.Scan(&j.created, &j.uid, &j.namespace, &j.name)
			page = append(page, j)
			return err
		}, `SELECT created, uid, namespace, name FROM jobs WHERE cluster = $1 AND exists_still = 1
			AND (created, uid) > ($2, $3) ORDER BY created, uid LIMIT 1000`, cluster, created, uid)
		if err != nil {
			return fmt.Errorf("listing jobs of the history: %w", err)
		}
		for _, j := range page {
			if err := fn(keyOf(cluster, j.uid), j.namespace, j.name); err != nil {
				return err
			}
		}
		if len(page) == 0 {
			return nil
		}
		created, uid = page[len(page)-1].created, page[len(page)-1].uid
	}
}
