// Makes transforms deterministic. The clock stops at the event's receipt. Random numbers depend on its execution id. Functions
// that default to the host's time use the fixed clock.

/** Clock and seed of the current event. Set before each event, and unreachable for its code. */
export const moment = {
  now: 0,
  seed: "",
  draw: undefined as (() => number) | undefined,
}

export function installDeterminism(): void {
  installDate()
  Object.defineProperty(Math, "random", {
    value: function random() {
      moment.draw ??= generator(moment.seed)
      return moment.draw()
    },
    configurable: true,
    writable: true,
  })
  installIntl()
}

function installDate(): void {
  const HostDate = Date
  function FixedDate(...given: unknown[]): unknown {
    if (!new.target) return new HostDate(moment.now).toString()
    return Reflect.construct(HostDate, given.length === 0 ? [moment.now] : given, new.target)
  }
  Object.defineProperties(FixedDate, {
    name: { value: "Date", configurable: true },
    length: { value: 7, configurable: true },
    prototype: { value: HostDate.prototype, writable: false },
    now: { value: { now: () => moment.now }.now, configurable: true, writable: true },
    parse: { value: HostDate.parse, configurable: true, writable: true },
    UTC: { value: HostDate.UTC, configurable: true, writable: true },
  })
  Object.defineProperty(HostDate.prototype, "constructor", { value: FixedDate, configurable: true, writable: true })
  Object.defineProperty(globalThis, "Date", { value: FixedDate, configurable: true, writable: true })
}

function installIntl(): void {
  const prototype = Intl.DateTimeFormat.prototype
  const format = Object.getOwnPropertyDescriptor(prototype, "format")?.get
  const formatToParts = prototype.formatToParts
  if (!format) throw new Error("Intl.DateTimeFormat.prototype.format is not an accessor here")
  Object.defineProperty(prototype, "format", {
    get(this: Intl.DateTimeFormat) {
      const bound: Intl.DateTimeFormat["format"] = format.call(this)
      return (date?: Date | number) => bound(date === undefined ? moment.now : date)
    },
    configurable: true,
  })
  Object.defineProperty(prototype, "formatToParts", {
    value: function (this: Intl.DateTimeFormat, date?: Date | number) {
      return formatToParts.call(this, date === undefined ? moment.now : date)
    },
    configurable: true,
    writable: true,
  })
}

/** sfc32 (Chris Doty-Humphrey, PractRand), seeded by four FNV-1a hashes of the text. */
function generator(seed: string): () => number {
  let a = hash(seed, 0x811c9dc5)
  let b = hash(seed, a ^ 0x9e3779b9)
  let c = hash(seed, b ^ 0x85ebca6b)
  let counter = 1
  const next = () => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (c << 21) | (c >>> 11)
    c = (c + sum) | 0
    return (sum >>> 0) / 4_294_967_296
  }
  for (let i = 0; i < 12; i++) next()
  return next
}

function hash(text: string, start: number): number {
  let value = start | 0
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return value
}
