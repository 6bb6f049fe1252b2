package queueview

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/pkg/queues"
)

// quota is a resource of a queue, as a bar and in words.
type quota struct {
	Name, Flavor string
	// Used and Limit in words; empty where they are unknown. Unlimited is true where there is no limit.
	Used, Limit string
	Unlimited   bool
	// Promises are what is guaranteed, deserved, borrowed and free, as far as it is known.
	Promises []amount
	// Bar is nil where nothing can be drawn: neither the use nor any other amount is known.
	Bar *bar
	// Over reports whether more is used than the limit.
	Over bool
}

// amount of something, with its word.
type amount struct{ Word, Value string }

// bar of a quota. Lengths are in percent of its width, as attributes of SVG have them.
type bar struct {
	// Own is used within what the queue has itself, Borrowed beyond it; empty where the use is not known.
	Own, Borrowed, BorrowedAt string
	// Known reports whether the use is known: otherwise nothing is drawn of it.
	Known bool
	// Open bars have no limit: they end in nothing. Of those whose limit is unknown Unsure is true.
	Open, Unsure bool
	// End of the bar, the limit.
	End   string
	Marks []mark
}

// mark at what is guaranteed or deserved.
type mark struct{ Class, At string }

// guaranteedWords are what a queue's own share is called where it comes from.
var guaranteedWords = map[string]string{
	"ClusterQueue": "nominal", "ElasticQuota": "min", "Queue": "guaranteed",
}

func quotaOf(kind string, r *queues.Resource) quota {
	q := quota{Name: r.Name, Flavor: r.Flavor, Unlimited: r.Unlimited}
	if r.Used != nil {
		q.Used = *r.Used
	}
	if r.Limit != nil {
		q.Limit = *r.Limit
	}
	word := guaranteedWords[kind]
	if word == "" {
		word = "guaranteed"
	}
	for _, a := range []struct {
		word  string
		value *string
	}{{word, r.Guaranteed}, {"deserved", r.Deserved}, {"borrowed", notZero(r.Borrowed)}, {"free", r.Free}} {
		if a.value != nil {
			q.Promises = append(q.Promises, amount{a.word, *a.value})
		}
	}
	used, limit := parse(r.Used), parse(r.Limit)
	q.Over = used != nil && limit != nil && *used > *limit
	q.Bar = barOf(r, used, limit)
	return q
}

func notZero(text *string) *string {
	if n := parse(text); n == nil || *n == 0 {
		return nil
	}
	return text
}

// parse a quantity, for a length alone: words have it as it is. Nil where there is none.
func parse(text *string) *float64 {
	if text == nil {
		return nil
	}
	q, err := resource.ParseQuantity(*text)
	if err != nil {
		return nil
	}
	return new(q.AsApproximateFloat64())
}

// openShare of a bar without a limit is for what is known; the rest says that it goes on.
const openShare = 0.8

func barOf(r *queues.Resource, used, limit *float64) *bar {
	guaranteed, deserved, borrowed := parse(r.Guaranteed), parse(r.Deserved), parse(r.Borrowed)
	most := 0.0
	for _, n := range []*float64{used, limit, guaranteed, deserved} {
		if n != nil {
			most = max(most, *n)
		}
	}
	if most == 0 {
		return nil
	}
	b := &bar{Known: used != nil, Open: limit == nil && r.Unlimited, Unsure: limit == nil && !r.Unlimited}
	if limit == nil {
		most /= openShare
	}
	length := func(n float64) string { return strconv.FormatFloat(100*n/most, 'f', 2, 64) + "%" }
	if limit != nil {
		b.End = length(*limit)
	}
	if used != nil {
		own := *used
		if borrowed != nil && *borrowed > 0 {
			own = max(0, own-*borrowed)
			b.Borrowed, b.BorrowedAt = length(*used-own), length(own)
		}
		b.Own = length(own)
	}
	for _, m := range []struct {
		class string
		at    *float64
	}{{"guaranteed", guaranteed}, {"deserved", deserved}} {
		if m.at != nil && *m.at > 0 {
			b.Marks = append(b.Marks, mark{m.class, length(*m.at)})
		}
	}
	return b
}

// rank of a resource: GPUs and what else vendors add come first, then CPUs, then the rest.
func rank(name string) int {
	switch {
	case strings.Contains(name, "/"):
		return 0
	case name == "cpu":
		return 1
	case name == "memory":
		return 2
	}
	return 3
}
