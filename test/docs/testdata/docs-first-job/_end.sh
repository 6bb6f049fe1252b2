kubectl delete priorityclass training-low training-high
