kubectl delete priorityclass low patient
