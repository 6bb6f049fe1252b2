package convert_test

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/convert"
)

// convertOne converts a file of one document. It returns the job, nil if there is an error.
func convertOne(
	t *testing.T, file string, options convert.Options,
) (*v1alpha1.TrainingJob, convert.Result, error) {
	t.Helper()
	docs, err := convert.Split([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	result, err := convert.Convert(docs[0], options)
	if err != nil {
		return nil, result, err
	}
	return result.Objects[len(result.Objects)-1].(*v1alpha1.TrainingJob), result, nil
}

// hasProblem reports whether the text of one of the problems has a part.
func hasProblem(problems []convert.Problem, part string) bool {
	return slices.ContainsFunc(problems, func(p convert.Problem) bool {
		return strings.Contains(p.String(), part)
	})
}

// TestMPILaunchersWithoutCommand: the agent, which waits for the Workers, can run a command only. convert
// writes the one that the image or the arguments name.
func TestMPILaunchersWithoutCommand(t *testing.T) {
	const (
		ofImage  = "is written: it is the entrypoint of mpi-operator's image"
		ofArgs   = "becomes the command: the entrypoint of the image, if it has one, does not run"
		required = `container "l" has no command`
	)
	cases := map[string]struct {
		implementation, image, args string
		command, rest               []string
		want                        string
	}{
		"MPICH": {
			"MPICH", "mpioperator/mpi-pi:mpich", "[mpirun, pi]",
			[]string{"/entrypoint.sh"}, []string{"mpirun", "pi"}, "containers[0].command: /entrypoint.sh " + ofImage,
		},
		"Intel, with a registry": {
			"Intel", "docker.io/mpioperator/intel", "[mpirun]",
			[]string{"/entrypoint.sh"}, []string{"mpirun"}, ofImage,
		},
		"Open MPI has no entrypoint": {
			"OpenMPI", "mpioperator/mpi-pi:openmpi", "[mpirun, pi]",
			[]string{"mpirun"}, []string{"pi"}, "containers[0].args[0]: mpirun " + ofArgs,
		},
		"another image": {
			"MPICH", "registry.example.com/mpioperator:1", "[/opt/bin/mpiexec, -n, '2', pi]",
			[]string{"/opt/bin/mpiexec"}, []string{"-n", "2", "pi"}, ofArgs,
		},
		"Horovod": {"OpenMPI", "h:1", "[horovodrun, python]", []string{"horovodrun"}, []string{"python"},
			ofArgs},
		"another program":  {"OpenMPI", "h:1", "[python, train.py]", nil, nil, required},
		"an image's own":   {"MPICH", "mpioperator/mpi-pi:mpich", "[]", nil, nil, required},
		"arguments absent": {"OpenMPI", "h:1", "[]", nil, nil, required},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			job, result, err := convertOne(t, "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: a}\n"+
				"spec:\n  mpiImplementation: "+c.implementation+"\n  mpiReplicaSpecs:\n    Worker: {replicas: 1, "+
				"template: {spec: {containers: [{name: w, image: i}]}}}\n    Launcher: {template: {spec: {containers: "+
				"[{name: l, image: '"+c.image+"', args: "+c.args+"}]}}}", convert.Options{})
			if c.command == nil {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			launcher := job.Spec.ReplicaSpecs[v1alpha1.RoleLauncher].Template.Spec.Containers[0]
			if diff := gocmp.Diff([][]string{c.command, c.rest}, [][]string{launcher.Command,
				launcher.Args}); diff != "" {
				t.Errorf("command and args (-want +got):\n%s", diff)
			}
			if !hasProblem(result.Warnings, c.want) {
				t.Errorf("no warning %q in %v", c.want, result.Warnings)
			}
		})
	}
}

// TestLoneLaunchers: without Workers the processes run in the Launcher.
func TestLoneLaunchers(t *testing.T) {
	const launcher = "{containers: [{name: l, image: i, command: [mpirun, pi]}]}"
	cases := map[string]string{
		"v1": "apiVersion: kubeflow.org/v1\nkind: MPIJob\nmetadata: {name: a}\nspec: {mpiReplicaSpecs: " +
			"{Launcher: {template: {spec: " + launcher + "}}, Worker: {template: {spec: {containers: [{name: w, " +
			"image: i}]}}}}}",
		"v2beta1": "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: a}\nspec: {mpiReplicaSpecs: " +
			"{Launcher: {template: {spec: " + launcher + "}}}}",
		"Volcano": "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\nspec: {plugins: {ssh: " +
			"[]}, tasks: [{name: mpimaster, replicas: 1, template: {spec: " + launcher + "}}]}",
	}
	for name, document := range cases {
		t.Run(name, func(t *testing.T) {
			job, result, err := convertOne(t, document, convert.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if works := job.Spec.MPI.RunLauncherAsWorker; works == nil || !*works {
				t.Errorf("spec.mpi is %+v", job.Spec.MPI)
			}
			if want := "the Launcher runs the processes itself"; !hasProblem(result.Warnings, want) {
				t.Errorf("no warning %q in %v", want, result.Warnings)
			}
		})
	}
}
