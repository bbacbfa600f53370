#!/bin/bash
# Has URLs downloaded by the servers of a Lycosa master, with curl alone: download.sh MASTER SERVICE URL…
# The service has placement = "idlest" in the quotas; one with placement = "owner" divides its URLs by the ring (docs/dispatch.md).
set -euo pipefail
master=$1 service=$2
shift 2
client=curl-$$
urls=$(mktemp)
trap 'rm -f "$urls"' EXIT
printf '%s\n' "$@" >"$urls"
digest=$(sha256sum "$urls" | cut -d' ' -f1)
authorization=${LYCOSA_TOKEN:+Bearer $LYCOSA_TOKEN}

call() { curl --silent --show-error --fail-with-body ${authorization:+-H "Authorization: $authorization"} "$@"; }

# 1. Ask the master for a grant for these URLs.
question="{\"service\":\"$service\",\"client\":\"$client\",\"parts\":[{\"server\":null,\"count\":$#,\"digest\":\"$digest\"}]}"
while true; do
    answer=$(call "$master/v1/grants" -H 'Content-Type: application/json' -d "$question")
    grant=$(sed -n 's/.*"grant":"\([^"]*\)".*/\1/p' <<<"$answer")
    [ -n "$grant" ] && break
    echo "not yet: $answer" >&2
    sleep 1
done
server=$(sed -n 's/.*"server":"\([^"]*\)".*/\1/p' <<<"$answer")
address=$(grep -o "\"$server\":{\"address\":\"[^\"]*" <<<"$answer" | sed 's/.*"//')

# 2. Submit the URLs with the grant to the download server that it names.
named=(-H "Lycosa-Service: $service" -H "Lycosa-Client: $client")
call "$address/v1/downloads" "${named[@]}" -H "Lycosa-Grant: $grant" -H 'Content-Type: text/plain' --data-binary "@$urls" >&2
echo >&2

# 3. Fetch results: for each a line of JSON, the body of the page, and a line feed.
after=0
heads=$(mktemp)
trap 'rm -f "$urls" "$heads"' EXIT
while true; do
    call "$address/v1/results" "${named[@]}" -H 'Content-Type: application/json' -d "{\"after\":$after,\"wait\":20}" -D "$heads"
    after=$(sed -n 's/^lycosa-sequence: \([0-9]*\).*/\1/Ip' "$heads")
    owed=$(sed -n 's/^lycosa-owed: \([0-9]*\).*/\1/Ip' "$heads")
    # Results that were sent count until the next question confirms them.
    [ "$owed" = 0 ] && break
done
