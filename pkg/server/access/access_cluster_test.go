//go:build cluster

package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

func toError(err error) *Error {
	own := (*Error)(nil)
	if !errors.As(err, &own) && err != nil {
		return insufficient("", "%v", err)
	}
	return own
}

// action is something that a caller does in a namespace, and what the cluster's rules call it.
type action struct {
	do  func(ctx context.Context, c client.WithWatch, config *rest.Config, namespace string) error
	may authorizationv1.ResourceAttributes
}

// jobFunc does something to a job, or to all of its namespace.
type jobFunc func(context.Context, client.WithWatch, *v1alpha1.TrainingJob) error

func jobAction(verb, name string, do jobFunc) action {
	return action{
		do: func(ctx context.Context, c client.WithWatch, _ *rest.Config, namespace string) error {
			return do(ctx, c, job(namespace, name))
		},
		may: authorizationv1.ResourceAttributes{
			Verb: verb, Group: v1alpha1.GroupVersion.Group, Resource: resourceTrainingJobs, Name: name,
		},
	}
}

func actions() map[string]action {
	patch := func(what string) jobFunc {
		return func(ctx context.Context, c client.WithWatch, j *v1alpha1.TrainingJob) error {
			return c.Patch(ctx, j, client.RawPatch(types.MergePatchType, []byte(what)), client.DryRunAll)
		}
	}
	get := func(ctx context.Context, c client.WithWatch, j *v1alpha1.TrainingJob) error {
		return c.Get(ctx, client.ObjectKeyFromObject(j), j)
	}
	list := jobAction("list", "", func(ctx context.Context, c client.WithWatch, j *v1alpha1.TrainingJob) error {
		return c.List(ctx, &v1alpha1.TrainingJobList{}, client.InNamespace(j.Namespace))
	})
	follow := func(ctx context.Context, c client.WithWatch, j *v1alpha1.TrainingJob) error {
		w, err := c.Watch(ctx, &v1alpha1.TrainingJobList{}, client.InNamespace(j.Namespace))
		if err == nil {
			w.Stop()
		}
		return err
	}
	creation := func(ctx context.Context, c client.WithWatch, j *v1alpha1.TrainingJob) error {
		return c.Create(ctx, j, client.DryRunAll)
	}
	deletion := func(ctx context.Context, c client.WithWatch, j *v1alpha1.TrainingJob) error {
		return c.Delete(ctx, j, client.DryRunAll)
	}
	create := jobAction("create", "new", creation)
	create.may.Name = "" // who creates has no name yet, as far as rules go
	return map[string]action{
		"list": list, "watch": jobAction("watch", "", follow), "create": create,
		"get": jobAction("get", "bert", get), "get another": jobAction("get", "other", get),
		"patch": jobAction("patch", "bert", patch(`{"metadata":{"labels":{"a":"b"}}}`)),
		"suspend": jobAction("patch", "bert",
			patch(`{"spec":{"runPolicy":{"suspend":true}}}`)),
		"delete": jobAction("delete", "bert", deletion),
		"logs": {
			do: func(ctx context.Context, _ client.WithWatch, config *rest.Config, namespace string) error {
				kube, err := kubernetes.NewForConfig(config)
				if err != nil {
					return err
				}
				_, err = kube.CoreV1().Pods(namespace).GetLogs("bert-worker-0", &corev1.PodLogOptions{}).DoRaw(ctx)
				return err
			},
			may: authorizationv1.ResourceAttributes{
				Verb: "get", Resource: "pods", Subresource: "log", Name: "bert-worker-0",
			},
		},
	}
}

// caller has credentials of its own, and an identity in the server.
type caller struct {
	config *rest.Config
	id     identity.Identity
}

// callers have each another role.
func (e *environment) callers() map[string]caller {
	e.t.Helper()
	jobs := rbacv1.PolicyRule{
		APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{resourceTrainingJobs},
	}
	one, lists := jobs, jobs
	one.Verbs, one.ResourceNames = []string{"get"}, []string{"bert"}
	lists.Verbs = []string{"list"}
	for name, rule := range map[string]rbacv1.PolicyRule{"one-job": one, "lists": lists} {
		e.create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: teamA},
			Rules: []rbacv1.PolicyRule{rule}})
	}
	user := func(name string) rbacv1.Subject {
		return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
	}
	all := map[string]caller{}
	add := func(name string, groups ...string) {
		all[name] = caller{e.user(name, groups...), identity.Identity{
			Name: name, Groups: groups, Source: identity.SourceOIDC,
		}}
	}
	add("corp:root")
	e.bind("", "ClusterRole", "cluster-admin", user("corp:root"))
	add("corp:editor")
	e.bind(teamA, "ClusterRole", "edit", user("corp:editor"))
	add("corp:viewer")
	e.bind(teamA, "ClusterRole", "view", user("corp:viewer"))
	add("corp:viewer everywhere")
	e.bind("", "ClusterRole", "view", user("corp:viewer everywhere"))
	add("corp:one job")
	e.bind(teamA, "Role", "one-job", user("corp:one job"))
	add("corp:lists")
	e.bind(teamA, "Role", "lists", user("corp:lists"))
	add("corp:stranger")
	add("corp:member", "corp:a", "corp:b", "corp:c", "corp:d", "corp:müller & söhne")
	e.bind(teamB, "ClusterRole", "edit",
		rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "corp:müller & söhne"})
	e.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "ci", Namespace: teamA}})
	e.bind(teamA, "ClusterRole", "edit",
		rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: "ci", Namespace: teamA})
	e.bind(teamB, "ClusterRole", "view", rbacv1.Subject{
		APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:serviceaccounts:" + teamA,
	})
	all["service account ci"] = caller{
		e.account(teamA, "ci"), e.review(e.token(teamA, "ci", identity.DefaultAudience)),
	}
	return all
}

// review says whose a token is, as the server finds out: by a TokenReview with its own rights.
func (e *environment) review(token string) identity.Identity {
	e.t.Helper()
	kube, err := kubernetes.NewForConfig(e.account(serverNamespace, serverAccount))
	if err != nil {
		e.t.Fatal(err)
	}
	a, err := identity.New(identity.Options{
		Config: identity.Default(), Reviews: kube.AuthenticationV1().TokenReviews(), ReviewCluster: "default",
		Clock: clock.RealClock{}, Registry: prometheus.NewRegistry(), Log: logr.Discard(),
	})
	if err != nil {
		e.t.Fatal(err)
	}
	var id identity.Identity
	harness.Until(e.t, "the token is reviewed", func(context.Context) (string, error) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		if id, err = a.Authenticate(r); err != nil {
			return err.Error(), nil // RBAC may not know the server yet
		}
		return "", nil
	})
	return id
}

// TestCallersAreAsTheClusterSays plays every action of every caller twice, with its own credentials and
// through the server: what happens is the same, word for word, and May and Visible agree.
func TestCallersAreAsTheClusterSays(t *testing.T) {
	e := newEnvironment(t)
	e.apply("../../../deploy/server/rbac.yaml")
	clusters := e.newClusters(Default())
	callers := e.callers()
	e.look(clusters, callers["corp:stranger"].id, "")
	e.settled(callers)
	for name, caller := range callers {
		t.Run(name, func(t *testing.T) {
			direct, err := client.NewWithWatch(caller.config, client.Options{Scheme: e.Client.Scheme()})
			if err != nil {
				t.Fatal(err)
			}
			through, config, err := clusters.As("default", caller.id)
			if err != nil {
				t.Fatal(err)
			}
			var listed []string
			for _, namespace := range []string{teamA, teamB, ""} {
				for what, a := range actions() {
					if namespace == "" && what != "list" {
						continue
					}
					want := a.do(t.Context(), direct, caller.config, namespace)
					got := a.do(t.Context(), through, config, namespace)
					if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got)); diff != "" {
						t.Errorf("%s in %q:\n%s", what, namespace, diff)
					}
					a.may.Namespace = namespace
					may, err := clusters.May(t.Context(), "default", caller.id, a.may)
					if err != nil || may == apierrors.IsForbidden(want) {
						t.Errorf("%s in %q: it may: %v, %v, but gets %v", what, namespace, may, err, want)
					}
					if what == "list" && want == nil {
						listed = append(listed, namespace)
					}
				}
			}
			all, visible, err := clusters.Visible(t.Context(), "default", caller.id, "list", []string{teamA, teamB})
			if all {
				visible = []string{teamA, teamB, ""}
			}
			if diff := cmp.Diff(listed, visible); diff != "" || err != nil {
				t.Errorf("visible: %v\n%s", err, diff)
			}
		})
	}
}

// settled waits until the API server knows every role: until then direct calls differ from one another.
func (e *environment) settled(callers map[string]caller) {
	e.t.Helper()
	for name, verbs := range map[string][]string{
		"corp:root": {"list"}, "corp:editor": {"list", "create"}, "corp:viewer": {"list"}, "corp:one job": {"get"},
		"corp:viewer everywhere": {"list"}, "corp:lists": {"list"}, "corp:member": {"list", "create"},
		"service account ci": {"list", "create"},
	} {
		namespace := teamA
		if name == "corp:member" {
			namespace = teamB
		}
		kube, err := kubernetes.NewForConfig(callers[name].config)
		if err != nil {
			e.t.Fatal(err)
		}
		for _, verb := range verbs {
			harness.Until(e.t, name+" has its role", func(ctx context.Context) (string, error) {
				may, err := kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
					&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
						ResourceAttributes: &authorizationv1.ResourceAttributes{
							Verb: verb, Group: v1alpha1.GroupVersion.Group, Resource: resourceTrainingJobs,
							Namespace: namespace, Name: map[bool]string{true: "bert"}[verb == "get"],
						},
					}}, metav1.CreateOptions{})
				if err != nil || may.Status.Allowed {
					return "", err
				}
				return "not yet", nil
			})
		}
	}
}

// TestRightsOfTheServer on a real API server: none, those that ship, some of them, too many, and the wide
// ones.
func TestRightsOfTheServer(t *testing.T) {
	e := newEnvironment(t)
	e.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "ci", Namespace: teamA}})
	user := identity.Identity{Name: "corp:jane", Groups: []string{"corp:a"}, Source: identity.SourceOIDC}
	account := identity.Identity{
		Name: "system:serviceaccount:team-a:ci", Source: identity.SourceTokenReview, Cluster: "default",
	}
	server := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: serverAccount, Namespace: serverNamespace}
	clusters := e.newClusters(Default())
	e.look(clusters, user, "lacks rights to act for its callers")

	e.apply("../../../deploy/server/rbac.yaml")
	e.look(clusters, user, "")
	e.look(clusters, account, "")
	if err := clusters.Acting(nil); err != nil {
		t.Errorf("as shipped: %v", err)
	}
	e.forbidden(clusters, user, "as shipped")
	e.forbidden(clusters, account, "as shipped")
	e.bind(teamA, "ClusterRole", "view", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind,
		Name: user.Name})
	role := &rbacv1.ClusterRole{}
	e.get("trainingjob-server-callers", role)
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Resources, "pods/log")
	})
	e.update(role)
	harness.Until(t, "logs are beyond the server", func(ctx context.Context) (string, error) {
		through, config, err := clusters.As("default", user)
		if err != nil {
			return "", err
		}
		if err := actions()["logs"].do(ctx, through, config, teamA); !errors.Is(err, ErrInsufficient) {
			return fmt.Sprint(err), nil
		}
		return "", nil
	})

	accounts := &rbacv1.ClusterRoleBinding{}
	e.get("trainingjob-server-service-accounts", accounts)
	e.delete(accounts)
	e.look(clusters, account, "lacks rights to act for service accounts")
	e.look(clusters, user, "")

	admin := e.bind("", "ClusterRole", "cluster-admin", server)
	e.look(clusters, user, "has the unconstrained right")
	if err := clusters.Acting(nil); !errors.Is(err, ErrInsufficient) {
		t.Errorf("an admin's rights: %v", err)
	}
	e.delete(admin)
	e.look(clusters, user, "")

	callers := &rbacv1.ClusterRoleBinding{}
	e.get("trainingjob-server-callers", callers)
	e.delete(callers)
	e.look(clusters, user, "lacks rights to act for its callers")
	e.apply("../../../deploy/server/rbac_wide.yaml")
	e.look(clusters, user, "has the unconstrained right")
	wide := e.newClusters(Config{WideImpersonation: true, CallsPerSecond: 1000})
	e.look(wide, user, "")
	e.look(wide, account, "lacks rights to act for service accounts")
	e.forbidden(wide, user, "by the wide right")
}

// forbidden expects the error that the caller lacks a right, not the server.
func (e *environment) forbidden(c *Clusters, id identity.Identity, how string) {
	e.t.Helper()
	through, _, err := c.As("default", id)
	if err != nil {
		e.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(e.t.Context(), time.Minute)
	defer cancel()
	err = through.List(ctx, &v1alpha1.TrainingJobList{}, client.InNamespace(teamB))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "`+id.Name+`" cannot list`) {
		e.t.Errorf("%s, %s lists: %v", how, id.Name, err)
	}
}

func (e *environment) get(name string, o client.Object) {
	e.t.Helper()
	if err := e.Client.Get(e.t.Context(), client.ObjectKey{Name: name}, o); err != nil {
		e.t.Fatal(err)
	}
}

func (e *environment) update(o client.Object) {
	e.t.Helper()
	if err := e.Client.Update(e.t.Context(), o); err != nil {
		e.t.Fatal(err)
	}
}

func (e *environment) delete(o client.Object) {
	e.t.Helper()
	if err := e.Client.Delete(e.t.Context(), o); err != nil {
		e.t.Fatal(err)
	}
}
