package framework

// All returns every framework, sorted by name, except that custom, the fallback, is last. The CRD, messages
// and docs/api.md list them in this order.
func All() []Framework {
	named := []Framework{
		mpi(),
		pytorch(),
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
