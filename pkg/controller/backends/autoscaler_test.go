package backends

import (
	"errors"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mlplatform.example.com/trainingjob-operator/pkg/controller/internal/jobtest"
)

// groups are the API groups that a cluster serves; nil: it does not answer.
type groups []string

func (g groups) ServerGroups() (*metav1.APIGroupList, error) {
	if g == nil {
		return nil, errors.New("no answer")
	}
	list := &metav1.APIGroupList{}
	for _, name := range g {
		list.Groups = append(list.Groups, metav1.APIGroup{Name: name})
	}
	return list, nil
}

func TestAutoscalerIsAbsentOnlyWhenThatIsCertain(t *testing.T) {
	status := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "autoscaler", Name: "cluster-autoscaler-status",
	}}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: "autoscaler", Name: "cluster-autoscaler",
	}}
	another := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-info"}}
	byName := func(o client.Object) []string { return []string{o.GetName()} }
	for name, tc := range map[string]struct {
		mode    NodeAutoscaler
		groups  groups
		objects []client.Object
		want    bool
	}{
		"no trace":                   {"", groups{"apps"}, []client.Object{another}, true},
		"Karpenter":                  {"", groups{"apps", "karpenter.sh"}, nil, false},
		"the Cluster Autoscaler":     {"", groups{"apps"}, []client.Object{another, status}, false},
		"it reports nothing":         {"", groups{"apps"}, []client.Object{lease}, false},
		"no answer":                  {"", nil, nil, false},
		"absent, says the admin":     {NodeAutoscalerAbsent, nil, []client.Object{status}, true},
		"present, says the admin":    {NodeAutoscalerPresent, groups{"apps"}, nil, false},
		"its requests, not yet used": {"", groups{"autoscaling.x-k8s.io"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			live := fake.NewClientBuilder().WithObjects(tc.objects...).
				WithIndex(&corev1.ConfigMap{}, metav1.ObjectNameField, byName).
				WithIndex(&coordinationv1.Lease{}, metav1.ObjectNameField, byName).Build()
			a := NewAutoscaler(tc.mode, tc.groups, live, clocktesting.NewFakeClock(jobtest.Start))
			a.Detect(t.Context())
			if got := a.IsAbsent(); got != tc.want {
				t.Errorf("known to be absent: %t", got)
			}
		})
	}
	if (*Autoscaler)(nil).IsAbsent() {
		t.Error("absent before the first search")
	}
}
