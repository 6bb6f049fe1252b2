kubectl delete trainingjobs -n team-a --all
kubectl delete localqueues.kueue.x-k8s.io -n team-a team-a
kubectl delete clusterqueues.kueue.x-k8s.io team-a
kubectl delete resourceflavors.kueue.x-k8s.io any
