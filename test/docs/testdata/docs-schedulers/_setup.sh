kubectl apply -f - <<Y
apiVersion: mlplatform.example.com/v1alpha1
kind: TrainingJob
metadata: {name: native}
spec:
  framework: pytorch
  image: registry.example.com/train:1
  command: [torchrun, train.py]
  replicas: 2
  runPolicy: {schedulingPolicy: {scheduler: native}}
Y
kubectl wait tj/native --for=condition=Running --timeout=120s
