package controller

// The operator's permissions: least privilege, generated into deploy/rbac/role.yaml. What is only read from
// the caches needs list and watch, but not get. TestInstalledOperatorIsAllowedWhatItDoes in cmd/operator runs
// with just these.
//
// TrainingJobs belong to the users. The operator writes their status, and deletes one when its time to live
// is over. blockOwnerDeletion needs the right to update their finalizers where
// OwnerReferencesPermissionEnforcement is on.
// +kubebuilder:rbac:groups=mlplatform.example.com,resources=trainingjobs,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=mlplatform.example.com,resources=trainingjobs/status,verbs=patch
// +kubebuilder:rbac:groups=mlplatform.example.com,resources=trainingjobs/finalizers,verbs=update
//
// Ranks are created and deleted, and never changed but for one annotation: Volcano looks again at the volumes
// of a rank only when the rank changes.
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// The addresses under these Services. OpenShift asks for a right of its own to write addresses of pods
// (RestrictedEndpointsAdmission).
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices/restricted,verbs=create
// +kubebuilder:rbac:groups="",resources=nodes,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
//
// Objects of the Cluster Autoscaler in any namespace, to know whether waiting pods bring nodes.
// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=cluster-autoscaler-status,verbs=list
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,resourceNames=cluster-autoscaler,verbs=list
//
// Claims for checkpoints are created and read, never changed or deleted. Why a job waits takes two more
// reads: the metadata of the volume claims that it names, to see whether they are bound, and priority classes
// (below).
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;create
//
// A Secret is created for each job of framework mpi, with the key by which its ranks reach each other. None
// is ever read, listed, changed or deleted: it goes with its job.
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create
// PodMonitors of jobs with metrics are created, compared and corrected. They go with their jobs.
// +kubebuilder:rbac:groups=monitoring.coreos.com,resources=podmonitors,verbs=get;create;patch
//
// The schedulers' groups.
// +kubebuilder:rbac:groups=scheduling.volcano.sh,resources=podgroups,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=scheduling.volcano.sh,resources=queues,verbs=list;watch
// +kubebuilder:rbac:groups=topology.volcano.sh,resources=hypernodes,verbs=list;watch
// +kubebuilder:rbac:groups=scheduling.k8s.io,resources=podgroups,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=scheduling.x-k8s.io,resources=podgroups,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=scheduling.x-k8s.io,resources=elasticquotas,verbs=list;watch
//
// Kueue's Workloads, which stand for gangs; its flavours say where the pods run, its classes how urgent they
// are.
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads/status,verbs=patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=resourceflavors;workloadpriorityclasses,verbs=list;watch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=localqueues;clusterqueues,verbs=list;watch
// +kubebuilder:rbac:groups=scheduling.k8s.io,resources=priorityclasses,verbs=list;watch
//
// Devices of dynamic resource allocation: which classes serve an extended resource, and how many GPUs the
// claims of ranks request.
// +kubebuilder:rbac:groups=resource.k8s.io,resources=deviceclasses;resourceclaimtemplates,verbs=list;watch
// +kubebuilder:rbac:groups=resource.k8s.io,resources=resourceclaims,verbs=get
//
// The API server authenticates and authorizes readers of the metrics.
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
//
// The leader's lease and the events about it, in the operator's own namespace. A create has no name that a
// rule could name (kubernetes.io/docs/reference/access-authn-authz/rbac, "Referring to resources").
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,namespace=trainingjob-system,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,resourceNames=trainingjob-operator,namespace=trainingjob-system,verbs=get;update
// +kubebuilder:rbac:groups="",resources=events,namespace=trainingjob-system,verbs=create;patch
