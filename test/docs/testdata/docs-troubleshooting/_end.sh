killed=localcluster.mlplatform.example.com/killed
kubectl taint node node-3 node.kubernetes.io/out-of-service-
kubectl patch lease node-3 -n kube-node-lease --type merge -p '{"metadata":{"labels":{"'$killed'":null}},
  "spec":{"holderIdentity":null,"leaseDurationSeconds":null}}'
kubectl label node node-3 $killed-
kubectl delete trainingjobs --all -n default
kubectl delete trainingjobs --all -n team-b
kubectl label namespace team-b pod-security.kubernetes.io/enforce-
kubectl delete queues.scheduling.volcano.sh research small
kubectl wait node/node-3 --for=condition=Ready --timeout=300s
