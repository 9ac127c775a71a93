// Hostile requests for inbound endpoints, drawn from a seed. Most have sound framing, so one connection can carry many.

export type Random = () => number

export interface Input {
  readonly bytes: Buffer
  /** The connection cannot carry another request after this one. */
  readonly isLast: boolean
}

export interface Endpoint {
  readonly path: string
}

export function drawInput(random: Random, endpoints: readonly Endpoint[], mayBeLast: boolean): Input {
  const { path } = pick(random, endpoints)
  const body = mutated(random, drawBody(random))
  const type = random() < 0.85 ? body.type : pick(random, types)
  const headers = drawHeaders(random)
  const target = random() < 0.9 ? path : path + pick(random, targets)
  const method = random() < 0.94 ? "POST" : pick(random, ["GET", "PUT", "OPTIONS", "DELETE", "PATCH", "QUERY"])
  const head = `${method} ${target} HTTP/1.1\r\nHost: x\r\n${type === "" ? "" : `Content-Type: ${type}\r\n`}${headers}`
  if (mayBeLast) return { bytes: brokenFraming(random, head, body.bytes), isLast: true }
  if (random() < 0.2)
    return {
      bytes: Buffer.concat([Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n`, "latin1"), chunked(random, body.bytes)]),
      isLast: false,
    }
  return { bytes: Buffer.concat([Buffer.from(`${head}Content-Length: ${body.bytes.length}\r\n\r\n`, "latin1"), body.bytes]), isLast: false }
}

interface Body {
  readonly type: string
  readonly bytes: Buffer
}

const types = [
  "",
  "application/json",
  "application/json; charset=utf-16",
  "application/json;charset=",
  "text/plain",
  "application/csp-report",
  "application/vnd.api+json",
  "application/x-www-form-urlencoded",
  "application/x-www-form-urlencoded; charset=latin1",
  "multipart/form-data",
  "multipart/form-data; boundary=",
  'multipart/form-data; boundary="X',
  "multipart/form-data; boundary=X",
  "multipart/form-data; boundary=X; boundary=Y",
  `multipart/form-data; boundary=${"x".repeat(200)}`,
  "multipart/mixed; boundary=X",
  "text/xml",
  "application/octet-stream",
  "*/*",
  ";",
  "a/b/c",
  'application/JSON ; x="\\"',
  "__proto__",
  "\u00e9/\u00e9",
] as const

const targets = ["?a=1&a=2", "?%", "?%ff=%00", "?__proto__=1", "/", "//", "/../x", "?a[b]=c", `?${"k=v&".repeat(300)}`, "#x", "?\u00e9"]

function drawBody(random: Random): Body {
  const roll = random()
  if (roll < 0.35) return { type: "application/json", bytes: Buffer.from(JSON.stringify(json(random, 0))) }
  if (roll < 0.5) return { type: "application/json", bytes: Buffer.from(pick(random, texts(random))) }
  if (roll < 0.65) return { type: "application/x-www-form-urlencoded", bytes: Buffer.from(urlencoded(random)) }
  if (roll < 0.95) return { type: "multipart/form-data; boundary=X", bytes: Buffer.from(multipart(random), "latin1") }
  return { type: pick(random, types), bytes: noise(random, Math.floor(random() ** 4 * 4_096)) }
}

const names = [
  "email",
  "a",
  "",
  "__proto__",
  "constructor",
  "is_test",
  "_envelope",
  "_bsontype",
  "$set",
  "a.b",
  "1.3",
  "\u0000",
  "\ud800",
  "id",
  "x".repeat(300),
]
const values: readonly unknown[] = [
  "",
  "a@b.example",
  0,
  -0,
  1e308,
  2 ** 53,
  2 ** 63,
  null,
  true,
  "\u0000",
  "\ud800",
  "\u202e",
  "{{ event }}",
  "x".repeat(2_000),
]

function json(random: Random, depth: number): unknown {
  const roll = random()
  if (depth > 4 || roll < 0.5) return depth === 0 ? { email: pick(random, values) } : pick(random, values)
  const count = Math.floor(random() * 5)
  if (roll < 0.6) return Array.from({ length: count }, () => json(random, depth + 1))
  return Object.fromEntries(Array.from({ length: count }, () => [pick(random, names), json(random, depth + 1)]))
}

function texts(random: Random): string[] {
  const many = Math.floor(random() * 400)
  return [
    "",
    " ",
    "null",
    "1e999",
    "-",
    '{"a":1,"a":2}',
    '{"__proto__":{"a":1}}',
    "\ufeff{}",
    "{}{}",
    '{"a":"\\ud800"}',
    `${"[".repeat(many)}`,
    `${"[".repeat(many)}${"]".repeat(many)}`,
    '{"a":'.repeat(many),
    `{"n":${"9".repeat(many + 1)}}`,
    `[${"1,".repeat(many)}1]`,
    `"${"\\".repeat(many)}"`,
  ]
}

function urlencoded(random: Random): string {
  const parts = [
    "a=1",
    "a=2",
    "=",
    "&",
    "%",
    "%zz",
    "%00",
    "%ff%fe",
    "+",
    "a[b]=c",
    "__proto__=1",
    "is_test=true",
    "email=a%40b.c",
    "_envelope.x=1",
    "a=b=c",
    ";",
  ]
  const count = random() < 0.03 ? 1_100 : Math.floor(random() * 12)
  return Array.from({ length: count }, () => pick(random, parts)).join("&")
}

function multipart(random: Random): string {
  const disposition = [
    'form-data; name="a"',
    'form-data; name="email"',
    'form-data; name=""',
    "form-data",
    "form-data; name=a; filename=b.txt",
    'form-data; name="f"; filename=""',
    'form-data; name="f"; filename="../../x"',
    "attachment",
    'form-data; name="\\"',
    "form-data; name*=utf-8''%ff",
    `form-data; name="${"n".repeat(500)}"`,
    'form-data; name="__proto__"',
  ]
  const type = [
    "",
    "",
    "Content-Type: text/plain; charset=utf-16le\r\n",
    "Content-Type: x\r\n",
    "Content-Type: text/plain; charset=nonsense\r\n",
    "Content-Transfer-Encoding: base64\r\n",
  ]
  const count = random() < 0.02 ? 1_100 : Math.floor(random() * 6)
  const parts = Array.from({ length: count }, () => {
    return `--X\r\nContent-Disposition: ${pick(random, disposition)}\r\n${pick(random, type)}\r\n${String(pick(random, values))}\r\n`
  })
  return `${parts.join("")}${pick(random, ["--X--\r\n", "--X--", "--X", "", "--X\r\n", "--Y--\r\n"])}`
}

function mutated(random: Random, { type, bytes }: Body): Body {
  if (random() < 0.55 || bytes.length === 0) return { type, bytes }
  const at = Math.floor(random() * bytes.length)
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
  const roll = random()
  if (roll < 0.3) return { type, bytes: Buffer.from(before) }
  if (roll < 0.5) return { type, bytes: Buffer.concat([before, after.subarray(1)]) }
  if (roll < 0.7) return { type, bytes: Buffer.concat([before, noise(random, 1 + Math.floor(random() * 4)), after]) }
  if (roll < 0.85) return { type, bytes: Buffer.concat([before, after, after]) }
  return { type, bytes: Buffer.concat([before, Buffer.from(pick(random, ["\r\n", "\n", "--X", "\u0000", '"', "\\", "&", "%"])), after]) }
}

function drawHeaders(random: Random): string {
  const headers = [
    "X-Signature: x",
    "X-Signature-256: sha256=00",
    "X-Hub-Signature-256: sha256=zz",
    "Stripe-Signature: t=abc,v1=\u00e9",
    "X-Signature-Timestamp: NaN",
    "X-Signature-Timestamp: 99999999999999999999",
    "Authorization: Bearer",
    "Authorization: Basic !!!",
    "Authorization: \u00ff",
    "User-Agent: ",
    `User-Agent: ${"u".repeat(4_000)}`,
    "Expect: 100-continue",
    "Accept-Language: *;q=nonsense",
    "X-Forwarded-For: ::,1.2.3.4,x",
    "Cookie: a=%ff; ;=",
    "Referer: \u00e9://[",
    "Origin: null",
    "X-Service-Test: 1",
    "Sec-GPC: 1",
    "traceparent: 00-0-0-0",
    "Idempotency-Key: ",
    "Date: x",
    "webhook-id: a",
    "webhook-signature: v1,",
    "Upgrade: h2c",
    "Range: bytes=0-",
    "TE: trailers",
    `X-Long: ${"h".repeat(8_000)}`,
    "__proto__: x",
    "Accept: text/html",
  ]
  // The service closes the connection after these.
  const closing = ["Content-Encoding: gzip", "Content-Encoding: x, y", "Expect: x", "Connection: close"]
  if (random() < 0.01) return `${pick(random, closing)}\r\n`
  const count = Math.floor(random() ** 2 * 6)
  return Array.from({ length: count }, () => `${pick(random, headers)}\r\n`).join("")
}

function chunked(random: Random, body: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < body.length; ) {
    const size = 1 + Math.floor(random() * 700)
    const part = body.subarray(at, at + size)
    parts.push(Buffer.from(`${part.length.toString(16)}${random() < 0.1 ? ";x=y" : ""}\r\n`), part, Buffer.from("\r\n"))
    at += size
  }
  return Buffer.concat([...parts, Buffer.from(random() < 0.1 ? "0\r\nX-Trailer: 1\r\n\r\n" : "0\r\n\r\n")])
}

/** A request with invalid HTTP, or with an early end. */
function brokenFraming(random: Random, head: string, body: Buffer): Buffer {
  const length = body.length
  const heads = [
    `Content-Length: ${length + 100}\r\n\r\n`,
    "Content-Length: -1\r\n\r\n",
    "Content-Length: x\r\n\r\n",
    `Content-Length: ${length}\r\nContent-Length: ${length + 1}\r\n\r\n`,
    `Content-Length: ${length}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "Transfer-Encoding: gzip\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
    "Content-Length: 99999999999999999999\r\n\r\n",
    "Content-Length: 5000000\r\n\r\n",
    " folded\r\n\r\n",
    "No colon\r\n\r\n",
    "X: \u0000\r\n\r\n",
    `X: ${"y".repeat(70_000)}\r\n\r\n`,
    "",
    "\n\n",
    "Connection: close\r\nContent-Length: 0\r\n\r\n",
  ]
  if (random() < 0.1) return noise(random, 1 + Math.floor(random() * 300))
  return Buffer.concat([Buffer.from(head + pick(random, heads), "latin1"), body])
}

function noise(random: Random, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)))
}

function pick<T>(random: Random, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T
}
