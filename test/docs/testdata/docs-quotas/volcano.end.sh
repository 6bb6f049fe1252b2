kubectl delete queues.scheduling.volcano.sh team-a
