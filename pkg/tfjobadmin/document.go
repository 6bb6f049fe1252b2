package tfjobadmin

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	shellquote "github.com/kballard/go-shellquote"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Document is one job, as the API answers it.
type Document struct {
	Metadata Metadata `json:"metadata"`
	Spec     Spec     `json:"spec"`
	Status   Status   `json:"status"`
}

// List is the answer to a request for several jobs.
type List struct {
	Metadata ListMetadata `json:"metadata"`
	Items    []Document   `json:"items"`
}

// ListMetadata says how many jobs there are, of which the list may be a part.
type ListMetadata struct {
	Total int `json:"total"`
}

// Metadata of a job.
type Metadata struct {
	// UID is the user of the job, not an identifier.
	UID string `json:"uid"`
	// ID of the job in paths: see ID.
	ID   string `json:"id"`
	Name string `json:"name"`
	// CreationTime and LastUpdateTime are in UTC. The latter is the last change that the job itself tells.
	CreationTime   time.Time `json:"creationTime"`
	LastUpdateTime time.Time `json:"lastUpdateTime"`
	// DeletionTime is when the job was deleted; absent while it is not, and where that is unknown.
	DeletionTime *time.Time `json:"deletionTime,omitempty"`
	// DeletedBefore is set instead for a job that was found gone: it was deleted at some time before.
	DeletedBefore *time.Time `json:"deletedBefore,omitempty"`
}

// Spec is what is trained. The zero value of a field means unset.
type Spec struct {
	Description string      `json:"description,omitempty"`
	Partition   string      `json:"partition"`
	Runtime     string      `json:"runtime"`
	Workdir     string      `json:"workdir,omitempty"`
	Bootfile    string      `json:"bootfile"`
	Args        []string    `json:"args"`
	Environment Environment `json:"enviroment,omitempty"` // the document's spelling

	CheckpointDir string `json:"checkpointDir,omitempty"`
	EventDir      string `json:"eventDir,omitempty"`
	ModelDir      string `json:"modelDir,omitempty"`
	LogDir        string `json:"logDir,omitempty"`

	Replicas []Replica `json:"replicas"`
}

// Replica describes the ranks of one type.
type Replica struct {
	// Type is worker or ps. Of jobs that were not made in this dialect it is any role, in lower case.
	Type string `json:"type"`
	// Count of ranks, from 0 to 10000. A type without ranks is as good as absent.
	Count    int32    `json:"count,string"`
	Resource Resource `json:"resource"`
}

// Resource is the limit of one rank.
type Resource struct {
	// CPU in cores, to the thousandth; nil: no limit.
	CPU *resource.Quantity
	// Memory in whole bytes; nil: no limit.
	Memory *resource.Quantity
	// GPU is a number of whole GPUs.
	GPU int64
}

// Types of replicas.
const (
	TypeWorker = "worker"
	TypePS     = "ps"
)

// Status of a job.
type Status struct {
	Phase Phase `json:"phase"`
	// Replicas are the ranks that the job's status lists: at most 100, the unhealthy ones first.
	Replicas []ReplicaStatus `json:"replicas"`
}

// ReplicaStatus is one rank.
type ReplicaStatus struct {
	ID           string     `json:"id"` // the pod's name
	RestartCount int32      `json:"restartCount"`
	Status       string     `json:"status"` // the pod's phase, or Missing
	StartTime    *time.Time `json:"startTime,omitempty"`
}

// Environment is a set of variables. Its JSON is one text of NAME=value, quoted as a shell's words are.
type Environment map[string]string

// MarshalJSON writes the variables in the order of their names.
func (e Environment) MarshalJSON() ([]byte, error) {
	pairs := make([]string, 0, len(e))
	for _, name := range slices.Sorted(maps.Keys(e)) {
		pairs = append(pairs, name+"="+e[name])
	}
	return json.Marshal(shellquote.Join(pairs...))
}

const mebi = 1 << 20

// MarshalJSON writes texts, as the document has them: cores to the thousandth, and memory in Mi where it is a
// multiple of that.
func (r Resource) MarshalJSON() ([]byte, error) {
	texts := struct {
		CPU    string `json:"cpu,omitempty"`
		Memory string `json:"memory,omitempty"`
		GPU    int64  `json:"gpu,string"`
	}{GPU: r.GPU}
	if r.CPU != nil {
		milli := r.CPU.MilliValue()
		texts.CPU = fmt.Sprintf("%d.%03d", milli/1000, milli%1000)
	}
	if r.Memory != nil {
		texts.Memory = r.Memory.String()
		if bytes := r.Memory.Value(); bytes%mebi == 0 {
			texts.Memory = fmt.Sprintf("%dMi", bytes/mebi)
		}
	}
	return json.Marshal(texts)
}
