package framework

import (
	"slices"
	"strings"
	"sync"
)

// All returns every framework, sorted by name, except that custom, the fallback, is last. The CRD, messages
// and docs/api.md list them in this order.
func All() []Framework { return slices.Clone(all()) }

// all is made once: every pass over a job asks for its framework and what that reserves.
var all = sync.OnceValue(func() []Framework {
	named := []Framework{
		jax(),
		mpi(),
		mxnet(),
		pytorch(),
		tensorflow(),
		xgboost(),
	}
	every := append(named, custom(named))
	for i := range every {
		every[i].reserved = map[bool][]string{false: every[i].Reserved(false), true: every[i].Reserved(true)}
	}
	return every
})

// Get returns the framework of a name, as in spec.framework, and reports whether there is one.
func Get(name string) (Framework, bool) {
	for _, f := range all() {
		if f.Name == name {
			return f, true
		}
	}
	return Framework{}, false
}

// Names returns the names of All, in its order.
func Names() []string {
	var names []string
	for _, f := range all() {
		names = append(names, f.Name)
	}
	return names
}

// ElasticNames returns the names of the frameworks that know spec.elasticPolicy.
func ElasticNames() []string {
	var names []string
	for _, f := range all() {
		if f.Elastic {
			names = append(names, f.Name)
		}
	}
	return names
}

// ElasticMessage tells a user what to change in a job with an elasticPolicy whose framework knows none.
func ElasticMessage() string {
	return "only framework " + strings.Join(ElasticNames(), " or ") + " has an elastic form: " +
		"remove elasticPolicy, or change spec.framework"
}
