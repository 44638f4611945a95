# A daemon with a ledger, to which three clusters have reported; it has ended, and the reader is in the
# folder of its settings. The reader's first environment is prod.
fairlead init fleet --sample --environments stage,prod
cd fleet
openssl rand -base64 32 > ledger-secret
port=20080
while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
sed -i "s/^listen: .*/listen: 127.0.0.1:$port/" fairlead.yaml
echo 'ledger: {secret: {file: ledger-secret}}' >> fairlead.yaml
chmod 600 ledger-secret
command fairlead serve --config fairlead.yaml > serve.log 2>&1 &
daemon=$!
until curl --silent --fail "http://127.0.0.1:$port/readyz" > ready.log; do kill -0 $daemon; sleep 0.1; done

# report CLUSTER ENVIRONMENT OBJECT SEVERITY COMMIT MESSAGE, as Flux does
report() {
  local reason=ReconciliationSucceeded
  if [ "$4" = error ]; then reason=HealthCheckFailed; fi
  local body signature
  body=$(printf '{"involvedObject":{"kind":"Kustomization","namespace":"flux-system","name":"%s"},"severity":"%s","timestamp":"%s","message":"%s","reason":"%s","metadata":{"revision":"main@sha1:%s","cluster":"%s","environment":"%s","clusterType":"cloud"},"reportingController":"kustomize-controller"}' \
    "$3" "$4" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$6" "$reason" "$5" "$1" "$2")
  signature=$(printf %s "$body" | openssl dgst -sha256 -hmac "$(fairlead fleet token "$1")" | sed 's/.*= //')
  curl --silent --fail --header "X-Signature: sha256=$signature" --data-binary "$body" "http://127.0.0.1:$port/webhooks/flux/$1"
}
one=1111111111111111111111111111111111111111
two=2222222222222222222222222222222222222222
report stage-1 stage checkout-api info $two "Reconciliation finished in 1s, next run in 10m0s"
report east-1 prod checkout-api info $one "Reconciliation finished in 1s, next run in 10m0s"
report east-2 prod checkout-api error $two "timeout waiting for Deployment/checkout-api"
kill $daemon
wait $daemon || true
