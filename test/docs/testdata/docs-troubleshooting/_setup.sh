# A job for every situation of the page.
# job <name> <ranks> <GPUs of each> [more lines of the spec]
job() {
  kubectl apply -f - <<Y
apiVersion: mlplatform.example.com/v1alpha1
kind: TrainingJob
metadata: {name: $1}
spec:
  framework: pytorch
  image: registry.example.com/train:1
  command: [torchrun, train.py]
  replicas: $2
  resources: {requests: {nvidia.com/gpu: "$3"}}
$4
Y
}
# queue <name> <GPUs>
queue() {
  kubectl apply -f - <<Y
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: $1}
spec: {capability: {nvidia.com/gpu: $2}}
Y
}
saves='  checkpoint: {interval: 600, pvc: {size: 50Gi}}'
kubectl create configmap trainers -n kube-public \
  --from-literal=crashes="steps=100000 rate=20 fail-at=20" \
  --from-literal=forgets="steps=100000 rate=20 every=3s save=500ms ignore-resume=true" \
  --from-literal=stalls="steps=100000 rate=20 every=3s save=500ms stall-after=50"
queue research 12
queue small 4

# Fake nodes pull no images: this script sets the status of these pods before they are scheduled. They do not use
# node-3, because lost-node needs all of it.
kubectl cordon node-0 node-1 node-2 node-3
here='  nodeSelector: {kubernetes.io/hostname: node-0}'
job bad-image 1 1 "$here"
job no-secret 1 1 "$here"
cannot() {
  timeout 60 bash -c "until kubectl get pod $1-worker-0 -o name; do :; done"
  kubectl patch pod "$1-worker-0" --subresource=status --type merge -p '{"status":{
    "conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"trainer","ready":false,
    "restartCount":0,"image":"registry.example.com/train:1","imageID":"",
    "state":{"waiting":{"reason":"'"$2"'","message":"'"$3"'"}}}]}}'
}
cannot bad-image ImagePullBackOff 'Back-off pulling image: not found'
cannot no-secret CreateContainerConfigError 'secret \"wandb\" not found'
kubectl uncordon node-0 node-1 node-2 node-3

job lost-node 1 8 '  nodeSelector: {kubernetes.io/hostname: node-3}'
kubectl wait tj/lost-node --for=condition=Running --timeout=300s
killed=localcluster.mlplatform.example.com/killed
kubectl label node node-3 $killed=true
kubectl patch lease node-3 -n kube-node-lease --type merge -p '{"metadata":{"labels":{"'$killed'":"true"}},
  "spec":{"holderIdentity":"killed","leaseDurationSeconds":315360000,"renewTime":"'$(date -u +%FT%T.%6NZ)'"}}'
kubectl delete pod lost-node-worker-0 --wait=false

job holder 3 2 '  runPolicy: {schedulingPolicy: {queue: research}}'
kubectl wait tj/holder --for=condition=Running --timeout=300s
job crashes 1 1 "$saves
  runPolicy: {backoffLimit: 0}"
job forgets 1 1 "$saves"
job stalls 1 1 "$saves"
job queue-full 4 2 '  runPolicy: {schedulingPolicy: {queue: research}}'
job queue-small 4 2 '  runPolicy: {schedulingPolicy: {queue: small}}'
job no-room 3 8
job too-large 2 16
job wrong-label 2 1 '  nodeSelector: {disk: fast}'
job no-queue 2 1 '  runPolicy: {schedulingPolicy: {queue: reserach}}'
job no-class 2 1 '  runPolicy: {schedulingPolicy: {priorityClass: hihg}}'
job no-scheduler 2 1 '  runPolicy: {schedulingPolicy: {scheduler: kueue}}' || true
job no-volume 2 1 '  volumes: [{name: data, persistentVolumeClaim: {claimName: imagenet}}]
  volumeMounts: [{name: data, mountPath: /data}]'
kubectl create -f - <<Y
apiVersion: v1
kind: Pod
metadata: {name: taken-worker-0}
spec: {schedulerName: absent, containers: [{name: c, image: example.com/c}]}
Y
job taken 2 1
kubectl label --overwrite namespace team-b pod-security.kubernetes.io/enforce=restricted
kubectl create -n team-b -f - <<Y
apiVersion: mlplatform.example.com/v1alpha1
kind: TrainingJob
metadata: {name: refused}
spec:
  framework: pytorch
  image: registry.example.com/train:1
  command: [torchrun, train.py]
  replicas: 2
Y
kubectl wait tj/forgets --for=condition=Running --timeout=300s
timeout 60 bash -c 'until kubectl get tj forgets -o jsonpath={.status.checkpoint.latest.step} | grep -q .; do :; done'
kubectl delete pod forgets-worker-0
