// Punycode (RFC 3492), both ways.

const base = 36
const tMin = 1
const tMax = 26
const skew = 38
const damp = 700
const firstBias = 72
const firstCode = 128
const lastCode = 0x10ffff

/** Undefined for invalid Punycode. */
export function decodePunycode(text: string): string | undefined {
  const dash = text.lastIndexOf("-")
  const codes = Array.from(dash > 0 ? text.slice(0, dash) : "", (char) => char.charCodeAt(0))
  let code = firstCode
  let at = 0
  let bias = firstBias
  const start = dash > 0 ? dash + 1 : 0
  for (let i = start; i < text.length; ) {
    const read = readDelta(text, i, bias)
    if (!read) return undefined
    const length = codes.length + 1
    bias = adapt(read.delta, length, i === start)
    i = read.next
    at += read.delta
    code += Math.floor(at / length)
    at %= length
    if (code > lastCode || (code >= 0xd800 && code < 0xe000)) return undefined
    codes.splice(at++, 0, code)
  }
  return String.fromCodePoint(...codes)
}

/** One number of variable length, from a place in the text. */
function readDelta(text: string, from: number, bias: number): { delta: number; next: number } | undefined {
  let delta = 0
  let weight = 1
  for (let i = from, k = base; ; k += base) {
    const read = Number.parseInt(text.charAt(i++), base)
    if (Number.isNaN(read)) return undefined
    const value = read >= 10 ? read - 10 : read + 26
    delta += value * weight
    if (delta > 0x7fffffff) return undefined
    const limit = threshold(k, bias)
    if (value < limit) return { delta, next: i }
    weight *= base - limit
  }
}

export function encodePunycode(text: string): string {
  const codes = Array.from(text, (char) => char.codePointAt(0) ?? 0)
  const basic = codes.filter((each) => each < firstCode)
  let out = String.fromCodePoint(...basic) + (basic.length > 0 ? "-" : "")
  let code = firstCode
  let delta = 0
  let bias = firstBias
  for (let done = basic.length; done < codes.length; ) {
    const next = Math.min(...codes.filter((each) => each >= code))
    delta += (next - code) * (done + 1)
    code = next
    for (const each of codes) {
      if (each < code) delta++
      if (each !== code) continue
      out += digitsOf(delta, bias)
      bias = adapt(delta, done + 1, done === basic.length)
      delta = 0
      done++
    }
    delta++
    code++
  }
  return out
}

function digitsOf(delta: number, bias: number): string {
  let out = ""
  let rest = delta
  for (let k = base; ; k += base) {
    const limit = threshold(k, bias)
    if (rest < limit) return out + digit(rest)
    out += digit(limit + ((rest - limit) % (base - limit)))
    rest = Math.floor((rest - limit) / (base - limit))
  }
}

function digit(value: number): string {
  return String.fromCharCode(value < 26 ? value + 97 : value + 22)
}

function threshold(k: number, bias: number): number {
  return Math.min(tMax, Math.max(tMin, k - bias))
}

function adapt(delta: number, length: number, isFirst: boolean): number {
  let rest = isFirst ? Math.floor(delta / damp) : delta >> 1
  rest += Math.floor(rest / length)
  let k = 0
  for (; rest > ((base - tMin) * tMax) >> 1; k += base) rest = Math.floor(rest / (base - tMin))
  return k + Math.floor(((base - tMin + 1) * rest) / (rest + skew))
}
