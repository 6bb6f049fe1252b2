kubectl delete priorityclass high
kubectl delete queue.scheduling.volcano.sh research
