kubectl wait tj/native --for=condition=Suspended --timeout=120s
