package corpus

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/convert"
)

// adminsOwn are the policies by which an admin forbids or warns.
var adminsOwn = []string{"use", "tenants", "restricted", "warnings"}

// byConvert is what the CRD and the admission policies say of what convert makes of a case, as documents of
// other systems say it: convert refuses the document, or makes a job that is refused for what the case is
// about, or for nothing. What an admin forbids, or warns of, is not for convert to know.
func byConvert(t *testing.T, b *bench, c Case) (got, want answer) {
	got, want = answer{}, answer{}
	if c.Phase != "" || slices.Contains(adminsOwn, c.By) {
		return got, want
	}
	object, _ := c.objects(t, b.bases)
	for source, document := range documents(object) {
		text, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		docs, err := convert.Split(text)
		if err != nil {
			continue
		}
		result, err := convert.Convert(docs[0], convert.Options{})
		var problems convert.Errors
		if errors.As(err, &problems) && len(problems) > 0 {
			continue
		}
		if err != nil {
			t.Errorf("%s is refused without a field: %v", source, err)
			continue
		}
		job, is := result.Objects[len(result.Objects)-1].(*v1alpha1.TrainingJob)
		if !is {
			t.Errorf("%s becomes a %T", source, result.Objects[len(result.Objects)-1])
			continue
		}
		if messages := b.refusals(t, c, job); len(messages) > 0 {
			got[source] = messages
		}
	}
	return got, want
}

// refusals returns the unexpected messages of the CRD and the admission policies about a new job.
func (b *bench) refusals(t *testing.T, c Case, job *v1alpha1.TrainingJob) []string {
	t.Helper()
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	request := c.request(t, b.bases)
	request.Object = nil
	if err := json.Unmarshal(text, &request.Object); err != nil {
		t.Fatal(err)
	}
	request.Object = copied(t, request.Object)
	var messages []string
	for _, err := range b.crd.Judge(t.Context(), request.Object, nil) {
		messages = append(messages, err.Error())
	}
	if len(messages) > 0 {
		return unexpected(c, messages)
	}
	for _, p := range b.policies {
		if slices.Contains(adminsOwn, short(p)) {
			continue
		}
		answers, err := p.Judge(t.Context(), request)
		if err != nil {
			t.Error(err)
		}
		for _, a := range answers {
			messages = append(messages, a.Message)
		}
	}
	return unexpected(c, messages)
}

// unexpected returns the messages, or nil if one of them is the one that the case expects.
func unexpected(c Case, messages []string) []string {
	if slices.ContainsFunc(messages, func(s string) bool { return strings.Contains(s, c.Says) }) {
		return nil
	}
	return messages
}

// documents returns objects of other systems that are equivalent to a TrainingJob, as far as possible.
func documents(job map[string]any) map[string]map[string]any {
	spec, is := job["spec"].(map[string]any)
	if !is {
		return nil
	}
	document := func(apiVersion, kind string, spec map[string]any) map[string]any {
		return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": job["metadata"], "spec": spec}
	}
	roles, full := spec["replicaSpecs"].(map[string]any)
	if !full {
		simple := maps.Clone(spec)
		simple["workers"] = spec["replicas"]
		return map[string]map[string]any{
			"ml-v1alpha1": document("ml.example.com/v1alpha1", "TrainingJob", simple),
		}
	}
	kubeflow := func(field string) map[string]any {
		return map[string]any{"runPolicy": spec["runPolicy"], field: roles, "elasticPolicy": spec["elasticPolicy"]}
	}
	var tasks []any
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		if task, is := roles[role].(map[string]any); is {
			task = maps.Clone(task)
			task["name"] = strings.ToLower(role)
			tasks = append(tasks, task)
		}
	}
	return map[string]map[string]any{
		"pytorchjob":     document("kubeflow.org/v1", "PyTorchJob", kubeflow("pytorchReplicaSpecs")),
		"tfjob":          document("kubeflow.org/v1", "TFJob", kubeflow("tfReplicaSpecs")),
		"mpijob-v2beta1": document("kubeflow.org/v2beta1", "MPIJob", kubeflow("mpiReplicaSpecs")),
		"volcano":        document("batch.volcano.sh/v1alpha1", "Job", map[string]any{"tasks": tasks}),
	}
}
