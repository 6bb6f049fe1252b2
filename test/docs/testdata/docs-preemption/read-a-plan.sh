kubectl create configmap trainers -n kube-public --from-literal=saves-often="steps=100000 rate=20 every=4s save=500ms" --from-literal=saves-rarely="steps=100000 rate=20 every=2h save=30s"
