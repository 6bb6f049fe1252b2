package framework

import "strings"

// All returns every framework, sorted by name, except that custom, the fallback, is last. The CRD, messages
// and docs/api.md list them in this order.
func All() []Framework {
	named := []Framework{
		jax(),
		mpi(),
		mxnet(),
		pytorch(),
		tensorflow(),
		xgboost(),
	}
	return append(named, custom(named))
}

// Get returns the framework of a name, as in spec.framework, and reports whether there is one.
func Get(name string) (Framework, bool) {
	for _, f := range All() {
		if f.Name == name {
			return f, true
		}
	}
	return Framework{}, false
}

// Names returns the names of All, in its order.
func Names() []string {
	var names []string
	for _, f := range All() {
		names = append(names, f.Name)
	}
	return names
}

// ElasticNames returns the names of the frameworks that know spec.elasticPolicy.
func ElasticNames() []string {
	var names []string
	for _, f := range All() {
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
