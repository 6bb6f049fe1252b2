kubectl apply --server-side --force-conflicts -k deploy/operator
kubectl apply --server-side --force-conflicts -f deploy/operator/kueue.yaml
