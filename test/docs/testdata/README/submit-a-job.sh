kubectl create configmap trainers -n kube-public --from-literal=bert="run 6"
kubectl create priorityclass high --value=1000
kubectl create -f - <<Q
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: research}
spec: {}
Q
kubectl wait queue.scheduling.volcano.sh/research --for=jsonpath='{.status.state}'=Open --timeout=60s
