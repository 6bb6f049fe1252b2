package logview

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/parameters"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Bounds of a query.
const (
	defaultLines, maxLines         = 500, 5000
	defaultLinesEach, maxLinesEach = 20, 200
	// maxRanks of one page.
	maxRanks = 64
)

// Query is the requested part of a job's logs.
type Query struct {
	// All ranks from Rank on, or only Rank.
	All  bool
	Rank spec.RankRef
	// Previous is the container's run before its last restart.
	Previous bool
	// Lines of each rank.
	Lines int64
	// Times reports whether lines are shown with their times.
	Times bool
}

// Parameters of a URL.
const (
	paramAll, paramRole, paramIndex  = "all", "role", "index"
	paramPrevious, paramLines, times = "previous", "lines", "times"
)

var own = []string{paramAll, paramRole, paramIndex, paramPrevious, paramLines, times}

// ParseQuery parses the parameters of a job's page of logs. It ignores other parameters. Its errors are
// problems that name the parameter.
func ParseQuery(job *v1alpha1.TrainingJob, values url.Values) (Query, error) {
	for _, name := range own {
		if len(values[name]) > 1 {
			return Query{}, parameters.Invalid(name, "it is given twice", "give it once")
		}
	}
	var q Query
	for name, into := range map[string]*bool{paramAll: &q.All, paramPrevious: &q.Previous, times: &q.Times} {
		switch v := values.Get(name); v {
		case "", "false":
		case "true":
			*into = true
		default:
			return Query{}, parameters.Invalid(name, fmt.Sprintf("%q is neither true nor false", v),
				"use one of the two")
		}
	}
	var err error
	if q.Rank, err = rankOf(job, values.Get(paramRole), values.Get(paramIndex)); err != nil {
		return Query{}, err
	}
	fallback, most := int64(defaultLines), int64(maxLines)
	if q.All {
		fallback, most = defaultLinesEach, maxLinesEach
	}
	if q.Lines, err = whole(values.Get(paramLines), fallback); err != nil || q.Lines < 1 || q.Lines > most {
		return Query{}, parameters.Invalid(paramLines,
			fmt.Sprintf("%q is not a number of lines", values.Get(paramLines)),
			fmt.Sprintf("use one from 1 to %d", most))
	}
	return q, nil
}

func whole(s string, fallback int64) (int64, error) {
	if s == "" {
		return fallback, nil
	}
	return strconv.ParseInt(s, 10, 64)
}

// rankOf returns a rank of a job, by default the first.
func rankOf(job *v1alpha1.TrainingJob, role, index string) (spec.RankRef, error) {
	roles := spec.Roles(job)
	if len(roles) == 0 {
		return spec.RankRef{}, problem.New(problem.Conflict, "the job has no ranks", "look at its spec")
	}
	at := 0
	if role != "" {
		at = slices.IndexFunc(roles, func(r spec.Role) bool { return string(r.Name) == role })
	}
	if at < 0 {
		var names []string
		for _, r := range roles {
			names = append(names, string(r.Name))
		}
		return spec.RankRef{}, parameters.Invalid(paramRole, fmt.Sprintf("the job has no role %q", role),
			"use one of "+strings.Join(names, ", "))
	}
	n, err := whole(index, 0)
	if err != nil || n < 0 || n >= int64(roles[at].Replicas) {
		return spec.RankRef{}, parameters.Invalid(paramIndex,
			fmt.Sprintf("%q is not an index of role %s", index, roles[at].Name),
			fmt.Sprintf("use one from 0 to %d", roles[at].Replicas-1))
	}
	return spec.RankRef{Role: roles[at].Name, Index: int32(n)}, nil
}

// first rank of a job.
func first(job *v1alpha1.TrainingJob) spec.RankRef {
	rank, err := rankOf(job, "", "")
	if err != nil { // it has none
		return spec.RankRef{}
	}
	return rank
}

// Ranks of the query, at most 64; next is the first after them, or nil.
func (q *Query) Ranks(job *v1alpha1.TrainingJob) (ranks []spec.RankRef, next *spec.RankRef) {
	if !q.All {
		return []spec.RankRef{q.Rank}, nil
	}
	begun := false
	for _, role := range spec.Roles(job) {
		for i := range role.Replicas {
			rank := spec.RankRef{Role: role.Name, Index: i}
			begun = begun || rank == q.Rank
			switch {
			case !begun:
			case len(ranks) == maxRanks:
				return ranks, &rank
			default:
				ranks = append(ranks, rank)
			}
		}
	}
	return ranks, nil
}

// Options of the logs.
func (q *Query) Options() Options { return Options{Previous: q.Previous, TailLines: q.Lines} }

// URL of the same query on a path.
func (q *Query) URL(path string) string {
	values := url.Values{
		paramRole: {string(q.Rank.Role)}, paramIndex: {strconv.Itoa(int(q.Rank.Index))},
		paramLines: {strconv.FormatInt(q.Lines, 10)},
	}
	for name, set := range map[string]bool{paramAll: q.All, paramPrevious: q.Previous, times: q.Times} {
		if set {
			values.Set(name, "true")
		}
	}
	return path + "?" + values.Encode()
}
