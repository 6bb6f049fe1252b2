kubectl create configmap trainers -n kube-public --from-literal=urgent="run 10" \
  --from-literal=first="steps=100000 rate=20 every=4s save=500ms"
kubectl create priorityclass training-low --value=1000
kubectl create priorityclass training-high --value=100000
