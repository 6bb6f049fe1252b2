package localcluster

import (
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/objects"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/servers"
)

// Annotations on a pod that say how it behaves on a fake node.
const (
	// AnnotationRunSeconds is how long the pod runs, in seconds. It outranks the container's command. A negative
	// number means until the pod is deleted.
	AnnotationRunSeconds = "localcluster.mlplatform.example.com/run-seconds"
	// AnnotationExitCode is the exit code of the first container, default 0. Any other makes the pod's phase
	// Failed and the reason Error.
	AnnotationExitCode = "localcluster.mlplatform.example.com/exit-code"
	// AnnotationSIGTERMExitCode makes a running pod end with this exit code when it is deleted, before it is
	// removed, as a program does that handles SIGTERM. A pod without it is removed at once.
	AnnotationSIGTERMExitCode = "localcluster.mlplatform.example.com/sigterm-exit-code"
	// AnnotationTrainer makes the pod a rank of a simulated training (see Options.Trainers). It outranks those
	// above. It is a list of key=value:
	//
	//	steps=2000           steps of the whole training, over all attempts; required
	//	rate=50              steps per second, default 10
	//	every=10s            between two saves, default $CHECKPOINT_INTERVAL_SECONDS
	//	save=2s              how long a save takes, default 1s; meanwhile nothing is trained
	//	start=1s             from the start of the last rank to the first step, default 1s, at most 24h
	//	on-sigterm=save      save (default): it saves within its grace and exits with 0;
	//	                     die: it ends at once; ignore: it continues until it is killed;
	//	                     save-unheard: it saves, and is killed with its agent before it can report;
	//	                     save-fail: it saves, and exits with 1
	//	ignore-resume=true   it starts at step 0 although it is given a checkpoint
	//	fail-at=500          it fails after this step, with
	//	exit-code=1          this exit code, default 1, in
	//	fail-attempts=1      that many attempts, default all
	//	stall-after=150      after so many steps of each attempt it stops training, until the annotation says
	//	                     something else: a change is followed at once
	//	stall-attempts=1     it stalls in that many attempts, default all
	//	stall-rank=2         the others have finished the last step and wait for this rank, which has not
	//	silent-rank=2        the agent of this rank posts no beats
	//	slow-rank=2          the others wait for this rank, so that each step takes twice as long
	//	phases=Evaluating@500:6m,Waiting@900:10s,Training@950:1m
	//	                     after these steps (at most 4) it trains nothing for that time, and calls that so;
	//	                     Training is a pause without a name
	//	torn-at=700          the first save at or after this step never becomes complete
	//	cannot-load=900      what attempt 1 saved at or after this step is complete, but cannot be loaded
	//	fault=older          what a rehearsal must find (see Fault of lab/simtrainer): one-shard, torn-saves,
	//	                     lost-random, deaf, in-place, outside, silent, wrong-step or older
	//	unnamed=true         it does not report its batches
	AnnotationTrainer = "localcluster.mlplatform.example.com/trainer"
)

// StorageClass is served by the process of the simulated trainers (Options.Trainers), which binds its claims
// at once, to volumes that no pod mounts. It is not the default class.
const StorageClass = "simulated"

// StorageProvisioner is the provisioner of StorageClass.
const StorageProvisioner = servers.StorageProvisioner

// LabelKilled is on a node that KillNode killed and on its lease, and on nothing else.
const LabelKilled = objects.LabelKilled

// IsFake reports whether KWOK plays the node.
func IsFake(node *corev1.Node) bool { return objects.IsFake(node) }
