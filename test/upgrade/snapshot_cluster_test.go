//go:build cluster

package upgrade

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/test/api/judge"
)

// inventory is every object of the cluster, by resource, namespace and name, and its UID.
type inventory map[string]string

// passing resources come and go by themselves, or are no objects.
var passing = []string{
	"events", "events.events.k8s.io", "leases.coordination.k8s.io", "componentstatuses",
}

// takeInventory asks the API server which resources it serves, and lists all objects of each.
func (s *stage) takeInventory(ctx context.Context) (inventory, error) {
	resources, err := discovery.ServerPreferredResources(s.cluster.Kube.Discovery())
	if err != nil {
		return nil, fmt.Errorf("discovering resources: %w", err)
	}
	all, err := metadata.NewForConfig(s.cluster.RESTConfig())
	if err != nil {
		return nil, err
	}
	found := inventory{}
	for _, list := range resources {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			gr := schema.GroupResource{Group: gv.Group, Resource: r.Name}
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") ||
				slices.Contains(passing, gr.String()) {
				continue
			}
			objects, err := all.Resource(gv.WithResource(r.Name)).List(ctx, metav1.ListOptions{})
			if apierrors.IsNotFound(err) {
				continue // its CRD has just gone
			}
			if err != nil {
				return nil, fmt.Errorf("listing %s: %w", gr, err)
			}
			for i := range objects.Items {
				o := &objects.Items[i]
				found[fmt.Sprintf("%s %s/%s", gr, o.Namespace, o.Name)] = string(o.UID)
			}
		}
	}
	return found, nil
}

// snapshot is what an upgrade must not change.
type snapshot struct {
	// objects of the pools.
	objects inventory
	jobs    map[string]v1alpha1.TrainingJob
	pods    map[string]podState
	// former is the definition of the release that is upgraded from. The API server hides the fields that it
	// lacks from the moment when it is applied, so that they are not compared.
	former *judge.CRD
}

// podState is what a restart of a rank would change.
type podState struct {
	UID, Node, Attempt, ResumesFrom, Image string
	Phase                                  corev1.PodPhase
	Restarts                               int32
	Deleted                                bool
}

func (s *stage) snapshot() snapshot {
	s.t.Helper()
	objects, err := s.takeInventory(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	maps.DeleteFunc(objects, func(key, _ string) bool {
		_, object, _ := strings.Cut(key, " ")
		namespace, _, _ := strings.Cut(object, "/")
		return s.pools[namespace] == nil
	})
	former, err := judge.ReadCRD(formerRelease(s.t).deploy(crdFile))
	if err != nil {
		s.t.Fatal(err)
	}
	shot := snapshot{
		objects: objects, former: former,
		jobs: map[string]v1alpha1.TrainingJob{}, pods: map[string]podState{},
	}
	jobs, pods := &v1alpha1.TrainingJobList{}, &corev1.PodList{}
	if err := s.cluster.Client.List(s.t.Context(), jobs); err != nil {
		s.t.Fatal(err)
	}
	if err := s.cluster.Client.List(s.t.Context(), pods); err != nil {
		s.t.Fatal(err)
	}
	for i := range jobs.Items {
		shot.jobs[jobs.Items[i].Name] = jobs.Items[i]
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; s.pools[p.Namespace] != nil {
			shot.pods[p.Name] = stateOf(p)
		}
	}
	return shot
}

func stateOf(p *corev1.Pod) podState {
	state := podState{
		UID: string(p.UID), Node: p.Spec.NodeName, Phase: p.Status.Phase,
		Attempt: p.Labels[v1alpha1.LabelAttempt], Deleted: p.DeletionTimestamp != nil,
	}
	for _, c := range p.Spec.InitContainers {
		state.Image += c.Image + " "
	}
	for _, e := range p.Spec.Containers[0].Env {
		if e.Name == checkpoint.EnvResume {
			state.ResumesFrom = e.Value
		}
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		state.Restarts += c.RestartCount
	}
	return state
}

// due reports whether something belongs to a job whose backoff was over at a time: it may start again.
func (s snapshot) due(at time.Time) func(name string) bool {
	return func(name string) bool {
		for job, j := range s.jobs {
			if t := j.Status.NextAttemptTime; t != nil && !t.After(at) && strings.HasPrefix(name, job) {
				return true
			}
		}
		return false
	}
}

// explains reports whether the status of a job says why it waits. Another release can word that differently,
// and then writes the status once.
func (s snapshot) explains(job string) bool {
	scheduling := s.jobs[job].Status.Scheduling
	return scheduling != nil && scheduling.Blocker != nil
}

// changes between two snapshots, of all jobs that are not excepted.
func (before snapshot) changes(after snapshot, excepted func(name string) bool) []string {
	was, is := before.facts(excepted, before.hidden), after.facts(excepted, before.hidden)
	var found []string
	for _, key := range slices.Sorted(maps.Keys(was)) {
		if now, ok := is[key]; !ok {
			found = append(found, key+" is gone")
		} else if now != was[key] {
			found = append(found, key+" is another:\n"+cmp.Diff(was[key], now))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(is)) {
		if _, ok := was[key]; !ok {
			found = append(found, key+" is new")
		}
	}
	return found
}

// hidden reports whether a job has fields that the former definition lacks. While that one is applied, the
// operator that still leads can write them once more, and the API server then stores the job without them.
func (s snapshot) hidden(job string) bool {
	j := s.jobs[job]
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&j)
	return err != nil || !equality.Semantic.DeepEqual(object, s.former.Pruned(object))
}

// facts are what must not change, as text. Of a job that can be stored again, the version is none.
func (s snapshot) facts(excepted, storedAgain func(name string) bool) map[string]string {
	facts := map[string]string{}
	for key, uid := range s.objects {
		if _, name, _ := strings.Cut(key, "/"); !excepted(name) {
			facts[key] = uid
		}
	}
	for name, j := range s.jobs {
		if !excepted(name) {
			j := j.DeepCopy()
			if storedAgain(name) {
				j.ResourceVersion = ""
			}
			facts["the job "+name] = s.factsOf(j)
		}
	}
	for name, p := range s.pods {
		if !excepted(name) {
			facts["the pod "+name] = indented(p)
		}
	}
	return facts
}

// factsOf a job, which is changed.
func (s snapshot) factsOf(j *v1alpha1.TrainingJob) string {
	if s.explains(j.Name) {
		b := j.Status.Scheduling.Blocker
		j.ResourceVersion, j.Status.Message, b.Message, b.NextStep, b.ObservedTime = "", "", "", "", nil
		for i := range j.Status.Conditions {
			j.Status.Conditions[i].Message = ""
		}
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(j)
	if err != nil {
		return err.Error()
	}
	object = s.former.Pruned(object)
	return indented(map[string]any{
		"resourceVersion": j.ResourceVersion, "spec": object["spec"], "status": object["status"],
	})
}

func indented(value any) string {
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}
