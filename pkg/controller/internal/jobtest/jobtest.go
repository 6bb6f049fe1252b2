// Package jobtest has a job for the tests of the controller's packages.
package jobtest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Start is when the clocks of the tests start.
var Start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Name of the job that Bert returns.
var Name = types.NamespacedName{Namespace: "default", Name: "bert"}

// Bert is a job of n ranks for the native scheduler.
func Bert(n int32) *v1alpha1.TrainingJob {
	return &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: Name.Name, Namespace: Name.Namespace, UID: "uid-bert", Generation: 1},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkPyTorch, Image: "trainer", Command: []string{"train"}, Replicas: &n,
		},
	}
}
