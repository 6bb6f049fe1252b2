# One job uses half of a queue, and another needs more than the rest.
kubectl create configmap trainers -n kube-public --from-literal=holder="steps=100000 rate=20"
kubectl apply -f - <<Q
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: research}
spec: {capability: {nvidia.com/gpu: 12}}
Q
kubectl wait queue.scheduling.volcano.sh/research --for=jsonpath='{.status.state}'=Open --timeout=300s
# job <name> <ranks>
job() {
  kubectl apply -f - <<Y
apiVersion: mlplatform.example.com/v1alpha1
kind: TrainingJob
metadata: {name: $1}
spec:
  framework: pytorch
  image: registry.example.com/train:1
  command: [torchrun, train.py]
  replicas: $2
  resources: {requests: {nvidia.com/gpu: "2"}}
  runPolicy: {schedulingPolicy: {queue: research}}
Y
}
job holder 3
kubectl wait tj/holder --for=condition=Running --timeout=300s
job next 4
