kubectl create configmap trainers -n kube-public --from-literal=nightly="run 3"
