kill -STOP "$OPERATOR_PID"
kubectl create -f - <<Y
apiVersion: mlplatform.example.com/v1alpha1
kind: TrainingJob
metadata: {name: unseen}
spec: {framework: pytorch, image: registry.example.com/train:1, command: [torchrun, train.py], replicas: 2}
Y
