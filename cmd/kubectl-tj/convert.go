package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/convert"
)

// convertOptions are the flags of convert.
type convertOptions struct {
	files  []string
	output string
	strict bool
	// framework and trainerVersion as they are given.
	framework, trainerVersion string
	convert.Options
}

const convertHelp = `Convert jobs of other systems to TrainingJobs.

It reads TrainJobs, PyTorchJobs, TFJobs, XGBoostJobs, MXJobs, MPIJobs and JAXJobs of Kubeflow, JobSets,
Kubernetes Jobs, Volcano Jobs, TrainingJobs of ml.example.com/v1alpha1 and v1, and the JSON of TFJob-admin, as
YAML or JSON, several in one file. It prints TrainingJobs and the objects that they need, such as a claim. It
connects to no cluster.

A TrainJob needs its runtime in one of the files, unless it is a runtime of Kubeflow Trainer itself.

A field without a counterpart causes a warning on stderr. If one document cannot be converted, the command
prints no objects. It passes objects that run nothing through unchanged. Other objects that start pods are an
error.

It also reads scripts for sbatch of Slurm, one in a file. Most of them name no container image: give one with
--image.

Exit codes: 0 converted, 1 a document or a file has an error, 2 wrong usage, 3 warnings with --strict.`

func convertCommand(s streams) *cobra.Command {
	var o convertOptions
	cmd := &cobra.Command{
		Use:   "convert -f FILE",
		Short: "Convert jobs of other systems to TrainingJobs",
		Long:  convertHelp,
		Example: "  kubectl tj convert -f pytorchjob.yaml > trainingjob.yaml\n" +
			"  kubectl get pytorchjob bert -o yaml | kubectl tj convert -f - | kubectl apply -f -\n" +
			"  kubectl tj convert -f trainjob.yaml -f runtime.yaml",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return o.run(s) },
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "file to convert, - for stdin; can be repeated")
	flags.StringVarP(&o.output, "output", "o", "yaml", "yaml or json")
	flags.BoolVar(&o.strict, "strict", false, "fail, and print nothing, if there are warnings")
	flags.StringVarP(&o.Namespace, "namespace", "n", "", "namespace of the results; default: the documents' own")
	flags.StringVar(&o.Image, "image", "", "image of trainers whose document names none")
	flags.StringVar(&o.Claim, "claim", "", "claim with the files of TFJob-admin's jobs; default: a new one")
	flags.StringVar(&o.Name, "name", "", "name of the result, for an input with one job; default: its own")
	flags.StringVar(&o.framework, "framework", "", "framework of JobSets and Jobs; default: by their commands")
	flags.StringVar(&o.trainerVersion, "trainer-version", convert.TrainerVersion, "release of Kubeflow Trainer "+
		"whose own runtimes are used; only "+convert.TrainerVersion)
	flags.BoolVar(&o.KeepSuspend, "keep-suspend", false, "keep suspend: true of jobs with a queue of Kueue")
	return cmd
}

func (o *convertOptions) run(s streams) error {
	o.Framework = v1alpha1.Framework(o.framework)
	switch err := o.Validate(); {
	case len(o.files) == 0:
		return errors.New("give a file with -f FILE, or -f - for stdin")
	case o.output != "yaml" && o.output != "json":
		return fmt.Errorf("unknown output %q: use -o yaml or -o json", o.output)
	case o.trainerVersion != convert.TrainerVersion:
		return fmt.Errorf("unknown --trainer-version %q: convert knows the runtimes of %s; give others with -f",
			o.trainerVersion, convert.TrainerVersion)
	case err != nil:
		return fmt.Errorf("--framework: %w", err)
	}
	inputs, failed, err := o.read(s)
	if err != nil {
		return codedError{exitError, err}
	}
	var all []convert.Document
	for _, in := range inputs {
		all = append(all, in.docs...)
	}
	o.Runtimes = convert.FindRuntimes(all)
	var objects []runtime.Object
	warnings := 0
	for _, in := range inputs {
		for _, doc := range in.docs {
			result, err := convert.Convert(doc, o.Options)
			warnings += len(result.Warnings)
			printProblems(s.err, "warning", in.name, doc, result.Warnings)
			if problems, ok := errors.AsType[convert.Errors](err); ok {
				printProblems(s.err, "error", in.name, doc, problems)
			}
			failed = failed || err != nil
			objects = append(objects, result.Objects...)
		}
	}
	switch {
	case failed:
		return codedError{code: exitError}
	case o.strict && warnings > 0:
		return codedError{exitWarnings, fmt.Errorf("%d warnings with --strict", warnings)}
	case len(objects) == 0:
		return codedError{exitError, errors.New("the input has only training runtimes: add the TrainJobs that " +
			"name them, with another -f")}
	case o.Name != "" && jobs(objects) > 1:
		return fmt.Errorf("--name %s is for one job, but the input has %d: convert them one by one", o.Name,
			jobs(objects))
	}
	return printObjects(s.out, objects, o.output)
}

// input is one file.
type input struct {
	name string
	docs []convert.Document
}

// read reads all files before one is converted, because a TrainJob may name a runtime of another file. It
// prints which of them have no documents that can be read.
func (o *convertOptions) read(s streams) (inputs []input, failed bool, err error) {
	for _, file := range o.files {
		data, name, err := readFile(file, s.in)
		if err != nil {
			return nil, false, err
		}
		docs, err := convert.Split(data)
		if err != nil {
			fmt.Fprintf(s.err, "error: %s: %v\n", name, err)
			failed = true
			continue
		}
		inputs = append(inputs, input{name, docs})
	}
	return inputs, failed, nil
}

// jobs counts the TrainingJobs.
func jobs(objects []runtime.Object) int {
	n := 0
	for _, o := range objects {
		if _, is := o.(*v1alpha1.TrainingJob); is {
			n++
		}
	}
	return n
}

// printProblems prints a line for each problem of a document.
func printProblems(w io.Writer, severity, file string, doc convert.Document, problems []convert.Problem) {
	for _, p := range problems {
		fmt.Fprintf(w, "%s: %s: %s: %s\n", severity, file, doc, p)
	}
}

// readFile reads a file, or stdin for -. It reads at most one byte more than convert accepts.
func readFile(path string, stdin io.Reader) (data []byte, name string, err error) {
	from := stdin
	name = "stdin"
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, "", err
		}
		defer func() { _ = file.Close() }() // it was only read
		from, name = file, path
	}
	data, err = io.ReadAll(io.LimitReader(from, convert.MaxBytes+1))
	if err != nil {
		return nil, "", fmt.Errorf("reading %s: %w", name, err)
	}
	return data, name, nil
}

// printObjects prints YAML documents, or one JSON object: a List if there are several.
func printObjects(w io.Writer, objects []runtime.Object, format string) error {
	var out bytes.Buffer
	if format == "json" {
		var value any = objects[0]
		if len(objects) > 1 {
			list := metav1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}}
			for _, o := range objects {
				list.Items = append(list.Items, runtime.RawExtension{Object: o})
			}
			value = list
		}
		encoder := json.NewEncoder(&out)
		encoder.SetIndent("", "    ")
		if err := encoder.Encode(value); err != nil {
			return codedError{exitError, err}
		}
	}
	for i, o := range objects {
		if format == "json" {
			break
		}
		text, err := yaml.Marshal(o)
		if err != nil {
			return codedError{exitError, err}
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return codedError{exitError, fmt.Errorf("printing: %w", err)}
	}
	return nil
}
