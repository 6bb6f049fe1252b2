//go:build cluster

package reasons

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// provocationsAlone affect every gang of a scheduler, so they run one after the other in a cluster of their
// own. Its Volcano runs the action enqueue, which is common but off in the configuration that ships.
var provocationsAlone = map[string]provocation{
	"Volcano lets no more in": {
		reason: v1alpha1.ReasonWaitingInQueue, on: both[:1], nodes: 1,
		provoke: func(p *fixture) { p.reserveAll(); p.Job("bert", 2, "4") },
		remove:  func(p *fixture) { p.Delete(p.reservation()) },
	},
	"Volcano does not run": {
		reason: v1alpha1.ReasonNotJudged, on: both[:1], nodes: 1,
		provoke: func(p *fixture) { p.stop("vc-scheduler"); p.Job("bert", 2, "1") },
		remove:  func(p *fixture) { p.start("vc-scheduler") },
	},
	"Volcano ends before it is woken": {
		reason: v1alpha1.ReasonSchedulerRests, on: both[:1], nodes: 1,
		provoke: func(p *fixture) {
			p.waitForClaim()
			p.stop("vc-scheduler")
			p.bindClaim()
		},
		remove: func(p *fixture) { p.start("vc-scheduler") },
	},
	"kube-scheduler does not run": {
		reason: v1alpha1.ReasonNotJudged, on: both[1:], nodes: 1,
		provoke: func(p *fixture) { p.stop("kube-scheduler"); p.Job("bert", 2, "1") },
		remove:  func(p *fixture) { p.start("kube-scheduler") },
	},
}

func TestReasonsOfAClusterAlone(t *testing.T) {
	modules := t.TempDir()
	if err := withEnqueue(modules); err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Modules = modules
	w, err := harness.Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
	}()
	for name, c := range provocationsAlone {
		for _, s := range c.on {
			t.Run(fmt.Sprintf("%s, %s", s, name),
				func(t *testing.T) { c.run(&fixture{w.NewNamespace(t, s, c.nodes)}) })
		}
	}
}

// withEnqueue copies lab/modules and turns on an action of Volcano's default configuration: enqueue, which
// admits a group while the cluster can hold all admitted groups, whether or not they have pods.
func withEnqueue(to string) error {
	if err := os.CopyFS(to, os.DirFS("../../lab/modules")); err != nil {
		return err
	}
	path := filepath.Join(to, localcluster.SchedulerVolcano, "scheduler.yaml")
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	const actions, plugin = `actions: "allocate, preempt, reclaim, backfill"`, "  - name: priority\n"
	text := string(content)
	if strings.Count(text, actions) != 1 || strings.Count(text, plugin) != 1 {
		return errors.New("Volcano's configuration has changed: adapt the test")
	}
	text = strings.Replace(text, actions, `actions: "enqueue, allocate, backfill"`, 1)
	text = strings.Replace(text, plugin,
		plugin+"  - name: overcommit\n    arguments:\n      overcommit-factor: 1.0\n", 1)
	return os.WriteFile(path, []byte(text), 0o600)
}

// reservation is another user's group that has no pods yet.
func (p *fixture) reservation() *volcanov1beta1.PodGroup {
	return &volcanov1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "other"},
		Spec: volcanov1beta1.PodGroupSpec{
			MinMember: 1, MinResources: &corev1.ResourceList{gpu: resource.MustParse("8")},
		},
	}
}

// reserveAll reserves the cluster's GPUs without using any.
func (p *fixture) reserveAll() {
	g := p.reservation()
	p.Create(g)
	p.Until("the group of another user is admitted", func(ctx context.Context) (string, error) {
		err := p.Client.Get(ctx, client.ObjectKeyFromObject(g), g)
		if err == nil && g.Status.Phase != volcanov1beta1.PodGroupInqueue {
			return fmt.Sprintf("it is %q", g.Status.Phase), nil
		}
		return "", err
	})
}

// stop a process of the cluster until start or the end of the test.
func (p *fixture) stop(process string) {
	p.T.Cleanup(func() {
		if err := p.StartProcess(context.Background(), process); err != nil {
			p.T.Error(err)
		}
	})
	if err := p.StopProcess(p.T.Context(), process); err != nil {
		p.T.Fatal(err)
	}
}

func (p *fixture) start(process string) {
	if err := p.StartProcess(p.T.Context(), process); err != nil {
		p.T.Fatal(err)
	}
}
