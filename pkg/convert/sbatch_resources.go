package convert

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// layout is how a job lies on its nodes. A rank is a node here.
type layout struct {
	nodes int64
	// tasks on each node, at least 1.
	tasks int64
	// gpus of each node.
	gpus int64
}

const (
	maxTasks = 1 << 20
	// nvidiaGPU and amdGPU are the resources of the vendors' device plugins.
	nvidiaGPU = corev1.ResourceName("nvidia.com/gpu")
	amdGPU    = corev1.ResourceName("amd.com/gpu")
)

// count reads the number of an option; 0 if it is absent or has an error.
func (s *slurm) count(name string) int64 {
	o, has := last(s.options, name)
	if !has {
		return 0
	}
	text, _ := strings.CutPrefix(s.resolve(o.value), "=")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > maxTasks {
		s.fail(o.at(), "%q is no number from 1 to %d: write one", o.value, maxTasks)
		return 0
	}
	return n
}

// layout of the job: nodes, tasks and GPUs of each.
func (s *slurm) readLayout() {
	s.nodes = s.nodeCount()
	perNode, total := s.count("ntasks-per-node"), s.count("ntasks")
	switch {
	case s.nodes == 0 && perNode > 0 && total > 0:
		s.nodes = (total + perNode - 1) / perNode
	case s.nodes == 0:
		s.nodes = 1
		if total > 1 {
			o, _ := last(s.options, "ntasks")
			s.warn(o.at(), "--nodes is absent, and Slurm would choose: one node with %d tasks is written", total)
		}
	}
	s.tasks = max(perNode, 1)
	if perNode == 0 && total > 0 {
		s.tasks = max((total+s.nodes-1)/s.nodes, 1)
		if total%s.nodes != 0 && total > s.nodes {
			o, _ := last(s.options, "ntasks")
			s.warn(o.at(), "%d tasks are no multiple of %d nodes: %d are written for each", total, s.nodes, s.tasks)
		}
		if total < s.nodes {
			o, _ := last(s.options, "ntasks")
			s.warn(o.at(), "%d tasks run on as many nodes: --nodes %d is reduced", total, s.nodes)
			s.nodes = total
		}
	}
	s.gpus = s.gpuCount()
	if n := s.count("ntasks-per-gpu"); n > 0 && perNode == 0 && total == 0 && s.gpus > 0 {
		s.tasks = n * s.gpus
	}
	if s.nodes > spec.MaxReplicas {
		o, _ := last(s.options, "nodes")
		s.fail(o.at(), "%d nodes are more than %d ranks: write fewer", s.nodes, spec.MaxReplicas)
	}
}

// nodeCount reads --nodes; 0 if it is absent. Of a range it is the least.
func (s *slurm) nodeCount() int64 {
	o, has := last(s.options, "nodes")
	if !has {
		return 0
	}
	least, most, isRange := strings.Cut(s.resolve(o.value), "-")
	if isRange && least != most {
		s.warn(o.at(), "%q is a range: the minimum, %s, is written", o.value, least)
	}
	n, err := strconv.ParseInt(least, 10, 64)
	if err != nil || n < 1 || n > maxTasks {
		s.fail(o.at(), "%q is no number of nodes: write one", o.value)
		return 0
	}
	return n
}

// gpuCount reads the GPUs of a node.
func (s *slurm) gpuCount() int64 {
	if n := s.gres(); n > 0 {
		return n
	}
	if n := s.gpusOf("gpus-per-node"); n > 0 {
		return n
	}
	if n := s.gpusOf("gpus-per-task"); n > 0 {
		return n * s.tasks
	}
	total := s.gpusOf("gpus")
	if total%s.nodes != 0 {
		o, _ := last(s.options, "gpus")
		s.warn(o.at(), "%d GPUs are no multiple of %d nodes: %d are written for each", total, s.nodes,
			(total+s.nodes-1)/s.nodes)
	}
	return (total + s.nodes - 1) / s.nodes
}

// gres reads the GPUs of --gres=gpu:TYPE:NUMBER, which is a list.
func (s *slurm) gres() int64 {
	var n int64
	for _, o := range s.options {
		if o.name != "gres" {
			continue
		}
		n = 0
		for _, item := range strings.Split(s.resolve(o.value), ",") {
			item, _, _ = strings.Cut(item, "(") // of cores: (S:0-1)
			item = strings.TrimPrefix(item, "gres/")
			kind, rest, has := strings.Cut(item, ":")
			switch {
			case kind == "none" || item == "":
			case kind != "gpu":
				s.warn(o.at(), "%s has no counterpart: set the ranks' resources", item)
			case !has:
				n++
			default:
				n += s.typed(o, rest)
			}
		}
	}
	return n
}

// gpusOf reads TYPE:NUMBER or NUMBER.
func (s *slurm) gpusOf(name string) int64 {
	o, has := last(s.options, name)
	if !has {
		return 0
	}
	return s.typed(o, s.resolve(o.value))
}

// typed reads NUMBER, TYPE or TYPE:NUMBER, and names a node selector for the type.
func (s *slurm) typed(o givenOption, text string) int64 {
	kind, number, has := strings.Cut(text, ":")
	if _, err := strconv.Atoi(kind); err == nil {
		kind, number = "", kind
	} else if !has {
		number = "1"
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > maxTasks {
		s.fail(o.at(), "%q has no number of GPUs: write one", o.value)
		return 0
	}
	if kind == "" {
		return n
	}
	if label := "nvidia.com/gpu.product"; amdType.MatchString(kind) {
		s.gpuResource = amdGPU
		s.warn(o.at(), "%d %s are written for the type %s: restrict the nodes by a nodeSelector", n, amdGPU, kind)
	} else {
		s.warn(o.at(), "the type %s has no counterpart: write a nodeSelector such as %s", kind, label)
	}
	return n
}

// amdType is a name of AMD's accelerators.
var amdType = regexp.MustCompile(`(?i)^(amd_?)?mi[0-9]{2,3}`)

// resources of a rank.
func (s *slurm) resources() corev1.ResourceRequirements {
	r := corev1.ResourceRequirements{Requests: corev1.ResourceList{}}
	if s.gpus > 0 {
		r.Requests[s.gpuResource] = *resource.NewQuantity(s.gpus, resource.DecimalSI)
	}
	cpus := s.cpus()
	if cpus > 0 {
		r.Requests[corev1.ResourceCPU] = *resource.NewQuantity(cpus, resource.DecimalSI)
	}
	if m := s.memory(max(cpus, 1)); m > 0 {
		q := *resource.NewQuantity(m, resource.BinarySI)
		r.Requests[corev1.ResourceMemory] = q
		r.Limits = corev1.ResourceList{corev1.ResourceMemory: q} // as Slurm ends what exceeds it
	}
	if len(r.Requests) == 0 {
		r.Requests = nil
	}
	return r
}

// cpus of a rank; 0: a whole node.
func (s *slurm) cpus() int64 {
	if n := s.count("cpus-per-gpu"); n > 0 && s.gpus > 0 {
		return n * s.gpus
	}
	if n := s.count("cpus-per-task"); n > 0 {
		return n * s.tasks
	}
	if o, has := last(s.options, "exclusive"); has {
		s.warn(o.at(), noCounterpart+": set the CPUs of a node as resources")
		return 0
	}
	return s.tasks // Slurm's default is one for each task
}

// memory of a rank in bytes; 0: not given.
func (s *slurm) memory(cpus int64) int64 {
	for _, of := range []struct {
		name  string
		times int64
	}{{"mem", 1}, {"mem-per-cpu", cpus}, {"mem-per-gpu", s.gpus}} {
		o, has := last(s.options, of.name)
		if !has {
			continue
		}
		bytes, ok := slurmMemory(s.resolve(o.value))
		switch {
		case !ok || of.times > 0 && bytes > math.MaxInt64/of.times:
			s.fail(o.at(), "%q is no amount of memory: write one such as 64G; without a unit it is in MiB", o.value)
		case bytes == 0:
			s.warn(o.at(), "0 means all memory of a node and has no counterpart: set the ranks' resources")
		}
		return bytes * of.times
	}
	return 0
}

var memoryText = regexp.MustCompile(`^([0-9]{1,12})([KkMmGgTt]?)[Bb]?$`)

// slurmMemory reads an amount in MiB, or with a unit.
func slurmMemory(text string) (int64, bool) {
	parts := memoryText.FindStringSubmatch(text)
	if parts == nil {
		return 0, false
	}
	n, _ := strconv.ParseInt(parts[1], 10, 64) // at most 12 digits
	shift := map[string]int{"K": 10, "": 20, "M": 20, "G": 30, "T": 40}[strings.ToUpper(parts[2])]
	if n > math.MaxInt64>>shift {
		return 0, false
	}
	return n << shift, true
}

var timeText = regexp.MustCompile(
	`^(?:([0-9]{1,6})-([0-9]{1,6})(?::([0-9]{1,6}))?(?::([0-9]{1,6}))?|` +
		`([0-9]{1,8})(?::([0-9]{1,6}))?(?::([0-9]{1,6}))?)$`)

// slurmSeconds reads a limit of time: minutes, m:s, h:m:s, d-h, d-h:m or d-h:m:s. 0 is no limit.
func slurmSeconds(text string) (int64, bool) {
	switch strings.ToUpper(text) {
	case "UNLIMITED", "INFINITE", "-1":
		return 0, true
	}
	p := timeText.FindStringSubmatch(text)
	if p == nil {
		return 0, false
	}
	n := func(i int) int64 {
		v, _ := strconv.ParseInt(p[i], 10, 64) // digits, or empty
		return v
	}
	switch {
	case p[1] != "":
		return n(1)*86400 + n(2)*3600 + n(3)*60 + n(4), true
	case p[7] != "":
		return n(5)*3600 + n(6)*60 + n(7), true
	}
	return n(5)*60 + n(6), true
}

const maxHostnames = 1000

var hostRange = regexp.MustCompile(`^([^\[\]]*)\[([0-9,\-]+)\]([^\[\]]*)$`)

// hostNames expands a list of hosts such as a,node[01-04,07].
func hostNames(list string) ([]string, error) {
	var names []string
	for _, item := range splitOutside(list) {
		parts := hostRange.FindStringSubmatch(item)
		if parts == nil {
			if strings.ContainsAny(item, "[]/") || item == "" {
				return nil, fmt.Errorf("%q is no list of hosts: write their names", list)
			}
			names = append(names, item)
			continue
		}
		for _, part := range strings.Split(parts[2], ",") {
			from, to, isRange := strings.Cut(part, "-")
			if !isRange {
				to = from
			}
			first, err1 := strconv.Atoi(from)
			end, err2 := strconv.Atoi(to)
			if err1 != nil || err2 != nil || first > end || end-first > maxHostnames {
				return nil, fmt.Errorf("%q is no list of at most %d hosts: write their names", list, maxHostnames)
			}
			for n := first; n <= end; n++ {
				names = append(names, fmt.Sprintf("%s%0*d%s", parts[1], len(from), n, parts[3]))
			}
		}
		if len(names) > maxHostnames {
			return nil, fmt.Errorf("%q has more than %d hosts: write a nodeSelector", list, maxHostnames)
		}
	}
	return names, nil
}

// splitOutside splits at commas outside of brackets.
func splitOutside(list string) []string {
	depth := 0
	return strings.FieldsFunc(list, func(r rune) bool {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		}
		return r == ',' && depth == 0
	})
}

// affinity keeps the ranks on, and off, the nodes that a script names.
func (s *slurm) affinity() *corev1.Affinity {
	var terms []corev1.NodeSelectorRequirement
	for _, operator := range []corev1.NodeSelectorOperator{corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn} {
		name := "nodelist"
		if operator == corev1.NodeSelectorOpNotIn {
			name = "exclude"
		}
		o, has := last(s.options, name)
		if !has {
			continue
		}
		names, err := hostNames(s.resolve(o.value))
		if err != nil {
			s.fail(o.at(), "%v", err)
			continue
		}
		if operator == corev1.NodeSelectorOpIn && int64(len(names)) < s.nodes {
			s.warn(o.at(), "names %d nodes for %d ranks: others may not run any", len(names), s.nodes)
		}
		terms = append(terms, corev1.NodeSelectorRequirement{
			Key: corev1.LabelHostname, Operator: operator, Values: names,
		})
	}
	if len(terms) == 0 {
		return nil
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: terms}},
		},
	}}
}
