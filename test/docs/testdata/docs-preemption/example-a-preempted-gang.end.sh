kubectl delete priorityclass training-low training-high training-patient
