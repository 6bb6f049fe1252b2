package convert

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// volcanoPlugins that stand for a framework, with the port of its ranks by default (plugins/
// distributed-framework/*, Volcano 1.14.1).
var volcanoPlugins = map[string]struct {
	framework v1alpha1.Framework
	port      int
}{
	"pytorch":    {v1alpha1.FrameworkPyTorch, 23456},
	"tensorflow": {v1alpha1.FrameworkTensorFlow, 2222},
	"mpi":        {v1alpha1.FrameworkMPI, 22},
}

// hostsDir and the variables of plugins/svc and plugins/env.
const (
	hostsDir = "/etc/volcano"
	// maxHosts bounds a variable that lists hosts, in bytes: the CRD's bound of a value.
	maxHosts = 32 << 10
)

// frameworkOfPlugins is that of a plugin; mpi too where plugin ssh gives keys to a task that starts MPI; else
// custom, whose ranks find each other by what plugin svc writes.
func (v *volcano) frameworkOfPlugins(path *field.Path) {
	v.job.Spec.Framework = v1alpha1.FrameworkCustom
	if _, ray := v.from.Plugins["ray"]; ray {
		v.fail(path.Key("ray"), "the job is a Ray cluster with a driver, not a gang of ranks: leave it to KubeRay "+
			"and remove it from the input")
	}
	if _, ssh := v.from.Plugins["ssh"]; ssh {
		v.launcher = v.taskThatStartsMPI()
		if v.launcher != "" {
			v.job.Spec.Framework = v1alpha1.FrameworkMPI
		}
	}
	var given []string
	for _, name := range sortedKeys(volcanoPlugins) {
		if _, is := v.from.Plugins[name]; is {
			v.job.Spec.Framework = volcanoPlugins[name].framework
			given = append(given, name)
		}
	}
	if len(given) > 1 {
		v.fail(path, "%s are plugins of different frameworks, and a job has one: remove the others",
			strings.Join(given, ", "))
	}
	if v.job.Spec.Framework == v1alpha1.FrameworkMPI {
		mpi(v.job).SlotsPerWorker = new(int32(defaultSlots)) // of a host without slots= or a colon
	}
}

// taskThatStartsMPI returns the name of the task of one rank that has a launcher's name, or else a command
// that starts the processes of MPI.
func (v *volcano) taskThatStartsMPI() string {
	found := ""
	for _, task := range v.from.Tasks {
		if volcanoRoles[strings.ToLower(task.Name)] == v1alpha1.RoleLauncher {
			return task.Name
		}
		main := mainContainer(&task.Template.Spec, "")
		if found == "" && task.Replicas == 1 && main != nil &&
			runs(slices.Concat(main.Command, main.Args), mpiStarters...) {
			found = task.Name
		}
	}
	return found
}

// plugins gives the ranks what Volcano's plugins would.
func (v *volcano) plugins(path *field.Path) {
	for _, name := range sortedKeys(v.from.Plugins) {
		args, at := v.from.Plugins[name], path.Key(name)
		switch name {
		case "svc":
			v.svc(at)
		case "env":
			v.env()
		case "ssh":
			v.ssh(args, at)
		case "pytorch", "tensorflow", "mpi":
			v.frameworkPlugin(name, args, at)
		default:
			v.warn(at, "plugin %s "+noCounterpart, name)
		}
	}
}

// containers calls a function with every container of every task.
func (v *volcano) containers(do func(*corev1.PodSpec, *corev1.Container)) {
	for _, t := range v.templates {
		for i := range t.Spec.InitContainers {
			do(&t.Spec, &t.Spec.InitContainers[i])
		}
		for i := range t.Spec.Containers {
			do(&t.Spec, &t.Spec.Containers[i])
		}
	}
}

// hosts of a task, as the ranks reach them.
func (v *volcano) hosts(task int) []string {
	var hosts []string
	for index := range min(v.from.Tasks[task].Replicas, maxHosts) {
		hosts = append(hosts, spec.RankHost(v.job.Name, spec.RankRef{Role: v.roles[task], Index: index}))
	}
	return hosts
}

// hostNames finds names of ranks in commands and variables that are others here: Volcano's have the task in
// the role's place.
func (v *volcano) hostNames() {
	for i, task := range v.from.Tasks {
		if task.Name == spec.RoleKey(v.roles[i]) {
			continue
		}
		name := regexp.MustCompile(`(^|[^0-9A-Za-z-])(` + regexp.QuoteMeta(v.job.Name+"-"+task.Name) +
			`-[0-9]+)($|[^0-9A-Za-z-])`)
		check := func(text string, at *field.Path) {
			if found := name.FindStringSubmatch(text); found != nil {
				v.fail(at, "%s is the rank's name in Volcano: write %s", found[2],
					v.job.Name+"-"+spec.RoleKey(v.roles[i])+found[2][strings.LastIndex(found[2], "-"):])
			}
		}
		for j, t := range v.templates {
			for k, c := range t.Spec.Containers {
				at := v.paths[j].Child("template", "spec", "containers").Index(k)
				for n, word := range c.Command {
					check(word, at.Child("command").Index(n))
				}
				for n, word := range c.Args {
					check(word, at.Child("args").Index(n))
				}
				for n, e := range c.Env {
					check(e.Value, at.Child("env").Index(n).Child("value"))
				}
			}
		}
	}
}

// svc writes the lists of hosts: variables, and files in a ConfigMap (plugins/svc/svc.go, GenerateHosts).
func (v *volcano) svc(at *field.Path) {
	files := map[string]string{}
	var env []corev1.EnvVar
	for i, task := range v.from.Tasks {
		name, hosts := strings.ReplaceAll(task.Name, "-", "_"), v.hosts(i)
		files[name+".host"] = strings.Join(hosts, "\n")
		list := strings.Join(hosts, ",")
		upper := strings.ToUpper(name)
		if len(list) > maxHosts {
			v.warn(at, "the list of %d hosts of %s is too long for a variable: VC_%s_HOSTS is left out",
				len(hosts), task.Name, upper)
		} else {
			env = append(env, variable("VC_"+upper+"_HOSTS", list))
		}
		env = append(env, variable("VC_"+upper+"_NUM", fmt.Sprint(task.Replicas)))
	}
	config := v.job.Name + "-hosts"
	v.companions = append(v.companions, &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: config, Namespace: v.job.Namespace}, Data: files,
	})
	for _, t := range v.templates {
		t.Spec.Volumes = append(t.Spec.Volumes, corev1.Volume{Name: "volcano-hosts",
			VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: config},
			}}})
	}
	v.containers(func(_ *corev1.PodSpec, c *corev1.Container) {
		addEnv(c, env...)
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "volcano-hosts", MountPath: hostsDir})
	})
	v.warn(at, "the lists of hosts are written out, in variables and in the ConfigMap %s: change them with "+
		"replicas", config)
}

// env tells a rank its index within its task, which is a label of every pod (plugins/env/env.go).
func (v *volcano) env() {
	index := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
		APIVersion: "v1", FieldPath: "metadata.labels['" + v1alpha1.LabelKubeflowReplicaIndex + "']",
	}}
	v.containers(func(_ *corev1.PodSpec, c *corev1.Container) {
		addEnv(c, corev1.EnvVar{Name: "VK_TASK_INDEX", ValueFrom: index},
			corev1.EnvVar{Name: "VC_TASK_INDEX", ValueFrom: index})
	})
}

// ssh gives keys to jobs of framework mpi alone.
func (v *volcano) ssh(args []string, at *field.Path) {
	if v.job.Spec.Framework != v1alpha1.FrameworkMPI {
		v.warn(at, "keys for ssh belong to framework mpi: they are left out")
		return
	}
	dir := rootSSH
	flags := newFlags("ssh")
	flags.StringVar(&dir, "ssh-key-file-path", dir, "")
	var none string
	flags.StringVar(&none, "ssh-private-key", "", "")
	flags.StringVar(&none, "ssh-public-key", "", "")
	v.parse(flags, args, at)
	if none != "" {
		v.warn(at, "keys in the document have no counterpart: every job gets keys of its own")
	}
	mpi(v.job).SSHAuthMountPath = dir
}

// frameworkPlugin names its tasks and its port in its arguments.
func (v *volcano) frameworkPlugin(name string, args []string, at *field.Path) {
	port := volcanoPlugins[name].port
	flags := newFlags(name)
	flags.IntVar(&port, "port", port, "")
	tasks := map[string]*string{}
	for _, task := range []string{"master", "worker", "ps", "chief", "evaluator"} {
		tasks[task] = flags.String(task, task, "")
	}
	waits := flags.Bool("wait-master-enabled", false, "")
	flags.Int("wait-master-timeout", 0, "")
	flags.String("wait-master-image", "", "")
	v.parse(flags, args, at)
	for _, task := range sortedKeys(tasks) {
		if given := *tasks[task]; given != task && v.roleOf(given) != v.roleOf(task) {
			v.fail(at, "the %s is called %s: rename the task to %s", task, given, task)
		}
	}
	if *waits {
		v.warn(at, "wait-master-enabled "+noCounterpart+": ranks find the master by its host name")
	}
	if port < 1 || port > 65535 {
		v.fail(at, "%d is no port", port)
		return
	}
	for i := range v.templates {
		pod := &v.templates[i].Spec
		if name == "mpi" {
			v.mpiHosts(pod, v.roles[i])
			continue
		}
		if f, _ := framework.Get(string(v.job.Spec.Framework)); len(pod.Containers) > 0 {
			addPort(f.Trainer(pod), framework.PortName, int32(port))
		}
	}
}

// mpiHosts is what plugin mpi tells the master: the hosts of the workers (mpi.go, MPIHost).
func (v *volcano) mpiHosts(pod *corev1.PodSpec, role v1alpha1.Role) {
	if role != v1alpha1.RoleLauncher {
		return
	}
	for i, worker := range v.roles {
		if worker != v1alpha1.RoleWorker {
			continue
		}
		list := strings.Join(v.hosts(i), ",")
		for j := range pod.Containers {
			addEnv(&pod.Containers[j], variable("MPI_HOST", list))
		}
	}
}

func newFlags(plugin string) *flag.FlagSet {
	flags := flag.NewFlagSet(plugin, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

func (v *volcano) parse(flags *flag.FlagSet, args []string, at *field.Path) {
	if err := flags.Parse(args); err != nil && !errors.Is(err, flag.ErrHelp) {
		v.fail(at, "reading the plugin's arguments: %v", err)
	}
}
