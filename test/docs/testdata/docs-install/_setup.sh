# Helm installs the CRD and the policies. Fake nodes run no images, so a policy ends the pod of helm test.
kubectl delete -f deploy/admission -f deploy/crd
kubectl delete clusterrole,clusterrolebinding trainingjob-operator
kubectl delete namespace trainingjob-system --timeout=2m
kubectl apply -f - <<Y
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: helm-test.docs.example.com}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  matchConditions:
  - {name: test, expression: "has(object.metadata.annotations) && 'helm.sh/hook' in object.metadata.annotations"}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        Object{metadata: Object.metadata{annotations: {'localcluster.mlplatform.example.com/run-seconds': '1'}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: helm-test.docs.example.com}
spec: {policyName: helm-test.docs.example.com}
Y
