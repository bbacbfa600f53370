// Has URLs downloaded by the servers of a Lycosa master, by Node 18 or later alone: node download.mjs MASTER SERVICE URL…
// Prints a line of JSON for each result: what is known of it, and its body as text. LYCOSA_TOKEN: the service's token.
// The service has placement = "idlest" in the quotas; one with "owner" divides its URLs by the ring (docs/dispatch.md).
import { createHash, randomUUID } from "node:crypto";
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";

const [master, service, ...urls] = process.argv.slice(2);
const client = `node-${randomUUID()}`; // our name in the service: results are kept under it
const token = process.env.LYCOSA_TOKEN && { Authorization: `Bearer ${process.env.LYCOSA_TOKEN}` };
const named = { "Lycosa-Service": service, "Lycosa-Client": client, ...token };

async function post(url, body, headers) {
  const answer = await fetch(url, { method: "POST", body, headers: { "Content-Type": "application/json", ...named, ...headers } });
  if (!answer.ok) throw new Error(`${url}: ${await answer.text()}`);
  return answer;
}

// 1. Ask the master for a grant. It never sees the URLs, only how many they are and the SHA-256 of their bytes.
async function ask(text) {
  const digest = createHash("sha256").update(text).digest("hex");
  const question = { service, client, parts: [{ server: null, count: urls.length, digest }] }; // null: the idlest one
  while (true) {
    const answer = await (await post(`${master}/v1/grants`, JSON.stringify(question))).json();
    const [{ grant, server, error, detail, after }] = answer.grants;
    if (grant) return { grant, address: answer.servers[server].address };
    const isForNow = ["over-quota", "no-capacity", "no-server", "ring-changed"].includes(error);
    if (!isForNow) throw new Error(`${error}: ${detail}`);
    await new Promise((done) => setTimeout(done, Math.max(after, 0.1) * 1000));
  }
}

// Results are, one after the other: a line of JSON, as many bytes of the body as it says, and a line feed.
function* results(bytes) {
  for (let begin = 0; begin < bytes.length; begin += 1) {
    const end = bytes.indexOf("\n", begin);
    const facts = JSON.parse(bytes.subarray(begin, end));
    yield [facts, bytes.subarray(end + 1, (begin = end + 1 + facts.body_bytes))];
  }
}

// A body is as the site has sent it, so it may be compressed.
function decoded({ headers }, body) {
  const coding = headers.find(([name]) => name.toLowerCase() === "content-encoding")?.[1];
  return ({ gzip: gunzipSync, deflate: inflateSync, br: brotliDecompressSync }[coding] ?? ((same) => same))(body);
}

// 2. Submit the URLs with the grant to the download server that it names.
const text = urls.map((url) => `${url}\n`).join("");
const { grant, address } = await ask(text);
await post(`${address}/v1/downloads`, text, { "Content-Type": "text/plain", "Lycosa-Grant": grant });

// 3. Fetch results until none is owed. Each question confirms those before: until then they are kept, and still owed.
for (let after = 0, owed = urls.length; owed > 0; ) {
  const answer = await post(`${address}/v1/results`, JSON.stringify({ after, wait: 20 }));
  for (const [facts, body] of results(Buffer.from(await answer.arrayBuffer())))
    console.log(JSON.stringify({ ...facts, body: decoded(facts, body).toString() }));
  after = Number(answer.headers.get("lycosa-sequence"));
  owed = Number(answer.headers.get("lycosa-owed"));
}
