kubectl apply --server-side -f deploy/admission
