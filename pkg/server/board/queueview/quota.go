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
	// Used and Limit in words; empty if unknown. Unlimited is true if there is no limit.
	Used, Limit string
	Unlimited   bool
	// Promises are the known ones of guaranteed, deserved, borrowed and free.
	Promises []amount
	// Bar is nil if all amounts are unknown.
	Bar *bar
	// Over reports whether the use exceeds the limit.
	Over bool
}

// amount with its word.
type amount struct{ Word, Value string }

// bar of a quota. Lengths are in percent of its width, for attributes of SVG.
type bar struct {
	// Own is the use within the queue's own quota, Borrowed beyond it; empty if the use is unknown.
	Own, Borrowed, BorrowedAt string
	// Known reports whether the use is known: otherwise the bar has none.
	Known bool
	// Open bars have no limit, and no end. Unsure is set if the limit is unknown.
	Open, Unsure bool
	// End of the bar, the limit.
	End   string
	Marks []mark
}

// mark at the guaranteed or deserved amount.
type mark struct{ Class, At string }

// guaranteedWords are the names of a queue's own share, by kind.
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

// parse a quantity for a length; nil if there is none.
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

// openShare of a bar without a limit is for the known amounts; the rest shows that it is open.
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

// rank of a resource: GPUs and other extended resources first, then CPUs, then the rest.
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
