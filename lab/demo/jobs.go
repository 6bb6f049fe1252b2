package demo

// The jobs of examples/demo, by name.
const (
	first  = "first"
	second = "second"
	urgent = "urgent"
)

func jobNames() []string { return []string{first, second, urgent} }
