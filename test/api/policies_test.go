//go:build cluster

package api_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/test/api/apitest"
)

// verdict is what a policy must say of a job; "" for one that it lets through.
type verdict struct {
	edit func(*v1alpha1.TrainingJob)
	full bool
	says string
}

func (v verdict) job(namespace string) *v1alpha1.TrainingJob {
	job := spec{full: v.full, edit: v.edit}.job()
	job.Namespace = namespace
	return job
}

func (s server) judge(t *testing.T, namespace string, cases map[string]verdict) {
	for name, v := range cases {
		t.Run(name, func(t *testing.T) {
			err := s.client.Create(t.Context(), v.job(namespace), client.DryRunAll)
			switch {
			case v.says == "" && err != nil:
				t.Errorf("refused: %v", err)
			case v.says != "" && (err == nil || !strings.Contains(err.Error(), v.says)):
				t.Errorf("want %q, got %v", v.says, err)
			}
		})
	}
}

// install a policy, and wait until it refuses what it should.
func (s server) install(t *testing.T, path, namespace string, refused verdict) {
	t.Helper()
	if err := apitest.Install(t.Context(), s.client, "../../"+path); err != nil {
		t.Fatal(err)
	}
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			last = s.client.Create(ctx, refused.job(namespace), client.DryRunAll)
			return last != nil && strings.Contains(last.Error(), refused.says), nil
		})
	if err != nil {
		t.Fatalf("waiting for %s: %v (last answer: %v)", path, err, last)
	}
}

func (s server) namespace(t *testing.T, name string, labels, annotations map[string]string) {
	t.Helper()
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: annotations}}
	if err := s.client.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}

// templateKeys: a prefix stands for keys that no list of them has.
func (s server) templateKeys(t *testing.T) {
	key := func(key string) func(*v1alpha1.TrainingJob) {
		return inWorker(func(p *corev1.PodTemplateSpec) { p.Annotations = map[string]string{key: "x"} })
	}
	s.judge(t, "default", map[string]verdict{
		"a key of Kueue":     {key("kueue.x-k8s.io/new"), true, "by kueue.x-k8s.io/new, but a gang queues as one"},
		"a key of Volcano":   {key("scheduling.volcano.sh/new"), true, "remove it from the pod template"},
		"a topology":         {key("kueue.x-k8s.io/podset-preferred-topology"), true, ""},
		"a key of the users": {key("example.com/scheduling.k8s.io"), true, ""},
	})
}

func (s server) tenants(t *testing.T) {
	s.namespace(t, "trainingjob-system", nil, nil)
	s.namespace(t, "team-a", nil, map[string]string{
		"mlplatform.example.com/schedulers":       "volcano kueue native",
		"mlplatform.example.com/queues":           "research batch",
		"mlplatform.example.com/priority-classes": "low",
		"mlplatform.example.com/service-accounts": "trainer",
	})
	queue := func(name string, more ...func(*v1alpha1.TrainingJob)) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			j.Spec.ServiceAccountName = "trainer"
			j.Spec.RunPolicy.SchedulingPolicy.Queue = name
			for _, edit := range more {
				edit(j)
			}
		}
	}
	scheduler := func(name v1alpha1.SchedulerName) func(*v1alpha1.TrainingJob) {
		return scheduling(func(p *v1alpha1.SchedulingPolicy) { p.Scheduler = name })
	}
	class := func(name string) func(*v1alpha1.TrainingJob) {
		return scheduling(func(p *v1alpha1.SchedulingPolicy) { p.PriorityClass = name })
	}
	prod := verdict{queue("prod"), false, `queue "prod" is not for namespace team-a: name one of [research, batch]`}
	s.install(t, "deploy/policies/tenants.yaml", "team-a", prod)
	s.judge(t, "team-a", map[string]verdict{
		"its queue":     {queue("research"), false, ""},
		"another queue": prod,
		"no queue":      {queue(""), false, `queue "" is not for`},
		"the queue by its label": {queue("", func(j *v1alpha1.TrainingJob) {
			j.Labels = map[string]string{v1alpha1.LabelKueueQueue: "prod"}
		}), false, `queue "prod" is not for`},
		"a scheduler without queues": {queue("", scheduler("native")), false, ""},
		"another scheduler":          {queue("", scheduler("coscheduling")), false, "scheduler coscheduling is not for namespace team-a"},
		"its class":                  {queue("batch", class("low")), false, ""},
		"another class": {queue("batch", class("high")), false,
			"priority class high is not for namespace team-a: name one of [low], or none"},
		"another class by Kueue's label": {queue("batch", func(j *v1alpha1.TrainingJob) {
			j.Labels = map[string]string{"kueue.x-k8s.io/priority-class": "high"}
		}), false, "priority class high is not for"},
		"the default account": {queue("batch", func(j *v1alpha1.TrainingJob) {
			j.Spec.ServiceAccountName = ""
		}), false, "service account default is not for jobs of namespace team-a"},
		"another account in a role": {func(j *v1alpha1.TrainingJob) {
			j.Spec.RunPolicy.SchedulingPolicy.Queue = "batch"
			inWorker(func(p *corev1.PodTemplateSpec) { p.Spec.DeprecatedServiceAccount = "admin" })(j)
			editRole(v1alpha1.RoleMaster, func(r *v1alpha1.ReplicaSpec) {
				r.Template.Spec.ServiceAccountName = "trainer"
			})(j)
		}, true, "service account admin is not for"},
	})
	s.judge(t, "default", map[string]verdict{
		"anything elsewhere": {queue("prod", class("high")), false, ""},
	})
}

func (s server) restricted(t *testing.T) {
	s.namespace(t, "team-r", map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}, nil)
	restricted := func(more ...func(*corev1.PodTemplateSpec)) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			for _, name := range []v1alpha1.Role{v1alpha1.RoleMaster, v1alpha1.RoleWorker} {
				editRole(name, func(r *v1alpha1.ReplicaSpec) {
					r.Template.Spec.SecurityContext = &corev1.PodSecurityContext{
						RunAsNonRoot:   new(true),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					}
					r.Template.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
						AllowPrivilegeEscalation: new(false),
						Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
					}
				})(j)
			}
			for _, edit := range more {
				inWorker(edit)(j)
			}
		}
	}
	simple := verdict{func(*v1alpha1.TrainingJob) {}, false, "describe the ranks by spec.replicaSpecs"}
	s.install(t, "deploy/policies/restricted.yaml", "team-r", simple)
	security := func(edit func(*corev1.SecurityContext)) func(*corev1.PodTemplateSpec) {
		return func(p *corev1.PodTemplateSpec) { edit(p.Spec.Containers[0].SecurityContext) }
	}
	s.judge(t, "team-r", map[string]verdict{
		"restricted": {restricted(func(p *corev1.PodTemplateSpec) {
			p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
				EmptyDir: &corev1.EmptyDirVolumeSource{},
			}}}
		}), true, ""},
		"nothing said": {func(*v1alpha1.TrainingJob) {}, true, "set runAsNonRoot: true"},
		"the host's network": {restricted(func(p *corev1.PodTemplateSpec) { p.Spec.HostNetwork = true }), true,
			"remove hostNetwork"},
		"a host's directory": {restricted(func(p *corev1.PodTemplateSpec) {
			p.Spec.Volumes = []corev1.Volume{{Name: "host", VolumeSource: corev1.VolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/"},
			}}}
		}), true, "volumes may be"},
		"root": {restricted(security(func(c *corev1.SecurityContext) { c.RunAsUser = new(int64(0)) })), true,
			"no runAsUser 0"},
		"privileged": {restricted(security(func(c *corev1.SecurityContext) { c.Privileged = new(true) })), true,
			"neither privileged nor procMount"},
		"a capability": {restricted(security(func(c *corev1.SecurityContext) {
			c.Capabilities.Add = []corev1.Capability{"SYS_ADMIN"}
		})), true, "add no other than NET_BIND_SERVICE"},
		"a port of the host": {restricted(func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
		}), true, "remove hostPort"},
		"no seccomp": {restricted(security(func(c *corev1.SecurityContext) {
			c.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
		})), true, "seccompProfile"},
		"an init container that says nothing": {restricted(func(p *corev1.PodTemplateSpec) {
			p.Spec.InitContainers = []corev1.Container{{Name: "fetch", Image: "fetch:1"}}
		}), true, "allowPrivilegeEscalation: false"},
	})
	s.judge(t, "default", map[string]verdict{"elsewhere": {func(*v1alpha1.TrainingJob) {}, false, ""}})
}

// warnings of the API server, as kubectl prints them.
type warnings struct {
	mu   sync.Mutex
	text []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

func (w *warnings) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.Join(w.text, "\n")
	w.text = nil
	return text
}

func (s server) reportsOff(t *testing.T) {
	if err := apitest.Install(t.Context(), s.client, "../../deploy/operator/reports_warning.yaml"); err != nil {
		t.Fatal(err)
	}
	said := &warnings{}
	config := rest.CopyConfig(s.config)
	config.WarningHandler = said
	c, err := client.New(config, client.Options{Scheme: s.client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	const want = "this installation has no report server"
	warned := func(ctx context.Context, checkpoint *v1alpha1.CheckpointSpec) (string, error) {
		job := simple()
		job.Spec.Checkpoint = checkpoint
		err := c.Create(ctx, job, client.DryRunAll)
		return said.take(), err
	}
	store := &v1alpha1.CheckpointSpec{Storage: v1alpha1.StorageS3, URI: "s3://models/bert"}
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			text, err := warned(ctx, store)
			return strings.Contains(text, want), err
		})
	if err != nil {
		t.Fatalf("an object store is not warned of: %v", err)
	}
	off := store.DeepCopy()
	off.Enabled = new(false)
	for name, checkpoint := range map[string]*v1alpha1.CheckpointSpec{
		"none": nil, "a volume": {}, "an object store that is not used": off,
	} {
		if text, err := warned(t.Context(), checkpoint); err != nil || strings.Contains(text, want) {
			t.Errorf("%s: warned with %q, %v", name, text, err)
		}
	}
}
