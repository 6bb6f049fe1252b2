# The link that the page creates completes the names of jobs and queues.
PATH=$HOME/bin:$PATH kubectl __complete tj explain '' | grep -x holder
PATH=$HOME/bin:$PATH kubectl __complete tj queues res | grep -x research
rm ~/bin/kubectl_complete-tj
kubectl delete tj --all
kubectl delete queue.scheduling.volcano.sh research
