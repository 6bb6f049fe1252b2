# Kubeflow's PyTorchJob, without its schema.
kubectl apply -f - <<Y
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pytorchjobs.kubeflow.org}
spec:
  group: kubeflow.org
  scope: Namespaced
  names: {kind: PyTorchJob, plural: pytorchjobs, singular: pytorchjob}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
Y
kubectl wait --for=condition=Established crd/pytorchjobs.kubeflow.org --timeout=300s
cat > pytorchjob.yaml <<Y
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: OnFailure
      template:
        spec:
          containers:
          - name: pytorch
            image: registry.example.com/train:1
            command: [torchrun, train.py]
Y
timeout 60 bash -c 'until kubectl apply -f pytorchjob.yaml; do :; done'
