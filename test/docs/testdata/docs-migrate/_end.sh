kubectl delete crd pytorchjobs.kubeflow.org
