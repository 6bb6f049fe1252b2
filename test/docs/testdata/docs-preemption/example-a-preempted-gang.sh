kubectl create configmap trainers -n kube-public --from-literal=low="steps=100000 rate=20 every=4s save=500ms"
