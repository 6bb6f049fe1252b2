package simtrainer

import (
	"context"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tokenSource returns the token that the kubelet would project into one pod: bound to the pod, for its own
// service account and audience, renewed before it expires.
type tokenSource struct {
	client client.Client
	clock  clock.PassiveClock
	pod    *corev1.Pod
	target ReportTarget

	mu    sync.Mutex
	token string
	renew time.Time
}

func (t *tokenSource) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	if t.token != "" && now.Before(t.renew) {
		return t.token, nil
	}
	account := &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.pod.Namespace, Name: t.target.ServiceAccount},
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: []string{t.target.Audience}, ExpirationSeconds: t.target.ExpirationSeconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Pod", Name: t.pod.Name, UID: t.pod.UID,
		},
	}}
	if err := t.client.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("requesting the token of pod %s: %w", t.pod.Name, err)
	}
	t.token = request.Status.Token
	// Like the kubelet, when a fifth of its lifetime is left.
	t.renew = now.Add(request.Status.ExpirationTimestamp.Sub(now) * 4 / 5)
	return t.token, nil
}
