package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	shellquote "github.com/kballard/go-shellquote"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// slurmOption is an option of sbatch or srun (Slurm 25.05, src/common/slurm_opt.c, and the plugins Pyxis and
// Shifter).
type slurmOption struct {
	// short form, a letter; 0: none.
	short byte
	// argument: 'n' none, 'y' required, 'o' optional, which only --name=value gives.
	argument byte
	// note is a warning about an option that has no counterpart. Empty: it is read, or has no effect on ranks.
	note string
}

// optionGroups are options with the same argument and note, each as name/letter.
var optionGroups = []struct {
	argument byte
	note     string
	names    []string
}{
	// Read by this package.
	{'y', "", []string{"account/A", "array/a", "chdir/D", "container-image", "container-mounts",
		"container-workdir", "cpus-per-gpu", "cpus-per-task/c", "dependency/d", "exclude/x", "gpus/G",
		"gpus-per-node", "gpus-per-task", "gres", "het-group", "image", "job-name/J", "mem", "mem-per-cpu",
		"mem-per-gpu", "mpi", "nodelist/w", "nodes/N", "ntasks/n", "ntasks-per-gpu", "ntasks-per-node",
		"partition/p", "qos/q", "signal", "switches", "time/t"}},
	{'n', "", []string{"hold/H", "multi-prog", "no-requeue", "requeue"}},
	{'o', "", []string{"exclusive"}},
	// Of the user's terminal, or of a step that is the only one.
	{'y', "", []string{"export-file", "gid", "jobid", "kill-on-invalid-dep", "uid", "wait-all-nodes"}},
	{'n', "", []string{"container-writable", "exact", "ignore-pbs", "label/l", "no-bell",
		"no-container-entrypoint", "no-container-mount-home", "no-container-remap-root", "overlap", "parsable",
		"quiet/Q", "unbuffered/u", "verbose/v"}},
	{'o', "", []string{"kill-on-bad-exit/K", "no-kill/k", "wait/W"}},
	// Without a counterpart.
	{'y', noCounterpart, []string{"acctg-freq", "batch", "bb", "bbf", "chkpt", "cluster-constraint",
		"clusters/M", "comment", "container", "container-env", "container-name", "container-save", "cpu-freq",
		"deadline", "delay-boot", "environment", "epilog", "extra", "gpu-freq", "input/i", "mcs-label", "module",
		"network", "nodefile/F", "profile", "prolog", "reservation", "task-epilog", "task-prolog", "threads/T",
		"time-min", "tres-per-task", "wckey", "wrap"}},
	{'n', noCounterpart, []string{"container-entrypoint", "container-readonly", "container-remap-root",
		"overcommit/O", "reboot", "stepmgr"}},
	{'o', noCounterpart, []string{"get-user-env", "nice", "propagate", "resv-ports"}},
	{'y', noCounterpart + ": see kubectl logs", []string{"error/e", "open-mode", "output/o"}},
	{'y', noCounterpart + ": alert on the job's conditions", []string{"mail-type", "mail-user"}},
	{'y', noCounterpart + ": the kubelet's CPU and topology managers decide", []string{"core-spec/S",
		"cores-per-socket", "cpu-bind", "extra-node-info/B", "gpu-bind", "gres-flags", "hint", "mem-bind",
		"mincpus", "ntasks-per-core", "ntasks-per-socket", "sockets-per-node", "thread-spec", "threads-per-core",
		"tres-bind"}},
	{'y', noCounterpart + ": every rank is a pod of its own", []string{"distribution/m", "relative/r"}},
	{'y', noCounterpart + ": the gang's scheduler decides", []string{"prefer"}},
	{'n', noCounterpart + ": the gang's scheduler decides", []string{"contiguous", "oversubscribe/s",
		"spread-job", "use-min-nodes"}},
	{'o', noCounterpart + ": the gang's scheduler decides", []string{"immediate/I"}},
	{'y', noCounterpart + ": set runPolicy.suspend, and unset it then", []string{"begin/b"}},
	{'y', noCounterpart + ": write a nodeSelector with a label of the nodes that are meant",
		[]string{"constraint/C"}},
	{'n', noCounterpart + ": mount a claim", []string{"container-mount-home"}},
	{'y', noCounterpart + ": a rank has the image's variables and those of the job", []string{"export"}},
	{'y', noCounterpart + ": give --gpus-per-node", []string{"gpus-per-socket"}},
	{'y', noCounterpart + ": set a quota", []string{"licenses/L"}},
	{'y', noCounterpart + ": set a priority class", []string{"priority"}},
	{'y', noCounterpart + ": mount an emptyDir with a sizeLimit", []string{"tmp"}},
	{'y', noCounterpart + ": add a volume for each path", []string{"volume/V"}},
}

var slurmOptions = optionTable()

func optionTable() map[string]slurmOption {
	table := map[string]slurmOption{}
	for _, group := range optionGroups {
		for _, name := range group.names {
			long, short, _ := strings.Cut(name, "/")
			option := slurmOption{argument: group.argument, note: group.note}
			if short != "" {
				option.short = short[0]
			}
			table[long] = option
		}
	}
	return table
}

// otherNames of options: former ones, and those that Slurm accepts silently.
var otherNames = map[string]string{
	"workdir": "chdir", "tasks-per-node": "ntasks-per-node",
	"share": "oversubscribe", "cpu_bind": "cpu-bind", "mem_bind": "mem-bind",
}

// givenOption is an option as a script gives it.
type givenOption struct {
	name, value string
	line        uint
}

// at is the place of an option in messages.
func (o givenOption) at() *field.Path { return lineOf(o.line, "--"+o.name) }

// lineOf is the place of a part of a script in messages.
func lineOf(line uint, part string) *field.Path {
	return field.NewPath(strings.TrimSpace(fmt.Sprintf("line %d %s", line, part)))
}

// readOptions reads options as getopt_long does, up to the first word that is none. It returns their number
// of words. Unknown ones are reported with the rest of the line.
func (c *conversion) readOptions(words []string, line uint) (found []givenOption, read int) {
	for read < len(words) {
		word := words[read]
		switch {
		case word == "--":
			return found, read + 1
		case !strings.HasPrefix(word, "-") || word == "-":
			return found, read
		}
		read++
		name, value, has := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if !strings.HasPrefix(word, "--") {
			name, value, has = shortOption(word)
		} else {
			name = longOption(name)
		}
		option, known := slurmOptions[name]
		if !known {
			c.unknownOption(word, name, line)
			continue
		}
		if name == "wait" && !has && read < len(words) && isNumber(words[read]) {
			read++ // srun's -W has an argument, and that of sbatch has none
		}
		if !has && option.argument == 'y' {
			if read == len(words) {
				c.fail(lineOf(line, word), "has no value: give one")
				return found, read
			}
			value = words[read]
			read++
		}
		found = append(found, givenOption{name, value, line})
	}
	return found, read
}

// unknownOption fails for what is nearly an option, since Slurm refuses it. Others may be of a plugin.
func (c *conversion) unknownOption(word, name string, line uint) {
	var near []string
	for _, known := range sortedKeys(slurmOptions) {
		short := min(len(known), len(name))
		if short > 2 && known[:short] == name[:short] {
			near = append(near, "--"+known)
		}
	}
	if len(near) == 0 {
		c.warn(lineOf(line, word), "is no option that convert knows: it is left out")
		return
	}
	c.fail(lineOf(line, word), "is no option of Slurm: write %s, or remove it", strings.Join(near, " or "))
}

func isNumber(word string) bool {
	_, err := strconv.Atoi(word)
	return err == nil
}

// longOption returns the full name of an option, which may be abbreviated to what no other begins with.
func longOption(name string) string {
	if full, is := otherNames[name]; is {
		return full
	}
	if _, is := slurmOptions[name]; is || len(name) < 2 {
		return name
	}
	var matches []string
	for full := range slurmOptions {
		if strings.HasPrefix(full, name) {
			matches = append(matches, full)
		}
	}
	if len(matches) == 1 {
		return matches[0]
	}
	return name
}

// shortOption reads -N2, or the first of -lu, whose other letters have no argument and no effect.
func shortOption(word string) (name, value string, has bool) {
	for full, option := range slurmOptions {
		if option.short != 0 && option.short == word[1] {
			return full, word[2:], len(word) > 2 && option.argument == 'y'
		}
	}
	return word, "", false
}

// directive is a line of options of sbatch. More # before it make it a comment.
var directive = regexp.MustCompile(`^#SBATCH(\s.*)?$`)

// directives returns the options of a script. Slurm reads none of those behind the first command.
func (c *conversion) directives(script string) []givenOption {
	var all []givenOption
	late := false
	for i, text := range strings.Split(script, "\n") {
		line := uint(i + 1)
		trimmed := strings.TrimSpace(text)
		is := directive.FindStringSubmatch(text)
		switch {
		case is == nil && trimmed != "" && !strings.HasPrefix(trimmed, "#"):
			late = true
		case is != nil && late:
			c.warn(lineOf(line, "#SBATCH"), "comes after the first command: Slurm ignores it, and so does convert")
		case is != nil:
			all = append(all, c.directive(is[1], line)...)
		}
	}
	return all
}

// directive reads one line of options.
func (c *conversion) directive(text string, line uint) []givenOption {
	words, err := shellquote.Split(withoutComment(text))
	if err != nil {
		c.fail(lineOf(line, "#SBATCH"), "has a quote without its end: close it")
		return nil
	}
	if len(words) > 0 && (words[0] == "hetjob" || words[0] == "packjob") {
		c.fail(lineOf(line, "#SBATCH "+words[0]), "a heterogeneous job has no counterpart: convert the script of "+
			"each component alone, or write a TrainingJob with a role for each")
		return nil
	}
	options, read := c.readOptions(words, line)
	if read < len(words) {
		c.warn(lineOf(line, "#SBATCH"), "%q is no option, and is left out with the rest of the line", words[read])
	}
	return options
}

// withoutComment cuts a line where a word begins with #, outside of quotes.
func withoutComment(text string) string {
	quote := rune(0)
	before := ' '
	for i, r := range text {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '#' && (before == ' ' || before == '\t'):
			return text[:i]
		case r == '\'' || r == '"':
			quote = r
		}
		before = r
	}
	return text
}

// refusedOptions of a script, with what to do instead.
var refusedOptions = map[string]string{
	"array": "an array of tasks has no counterpart: remove it and convert once for each task, with its number " +
		"in the place of SLURM_ARRAY_TASK_ID and a name of its own",
	"dependency": "TrainingJobs do not wait for one another: remove it, and use a workflow such as Argo or " +
		"Airflow",
	"multi-prog": "different programs in the tasks have no counterpart: write a TrainingJob with a role for " +
		"each",
	"het-group": "a heterogeneous job has no counterpart: convert the script of each component alone",
}

// checkOptions warns of options without a counterpart, and fails for those that change what would run.
func (c *conversion) checkOptions(options []givenOption) {
	for _, o := range options {
		if o.name == "array" && !strings.Contains(c.doc.script, "SLURM_ARRAY_TASK_ID") {
			c.fail(o.at(), "the script does not read SLURM_ARRAY_TASK_ID, so its tasks repeat one another: remove "+
				"it; "+
				"a TrainingJob is restarted until it ends")
		} else if why, refused := refusedOptions[o.name]; refused {
			c.fail(o.at(), "%s", why)
		} else if note := slurmOptions[o.name].note; note != "" && (o.name != "export" || o.value != "ALL") {
			c.warn(o.at(), "%s", note)
		}
	}
}

// last returns the option of a name that counts: the last of them.
func last(options []givenOption, name string) (givenOption, bool) {
	for _, o := range slices.Backward(options) {
		if o.name == name {
			return o, true
		}
	}
	return givenOption{}, false
}
