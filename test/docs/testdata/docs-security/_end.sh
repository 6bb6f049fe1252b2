kubectl delete -f deploy/policies/tenants.yaml
kubectl annotate namespace team-a mlplatform.example.com/queues-
kubectl delete quota -n team-a trainingjobs
