// Freezes the isolate's world, so a single context can serve every event without shared state. It removes functions with state
// and functions that run text as code. It fixes the override mistake, and freezes every built-in, named or hidden.
import { installConsole } from "./console.ts"
import { installDeterminism } from "./determinism.ts"

type Intrinsic = Record<PropertyKey, unknown>

/** Globals that keep state across events, leave the event's turn, or wait. */
const removedGlobals = [
  "WeakRef",
  "FinalizationRegistry",
  "Atomics",
  "SharedArrayBuffer",
  "WebAssembly",
  "Promise",
  "AsyncDisposableStack",
  "AsyncIterator",
  "Temporal",
  "eval",
]

// State of the last match, shared by all code in the realm.
const regexpStatics = ["input", "lastMatch", "lastParen", "leftContext", "rightContext", "$_", "$&", "$+", "$`", "$'"].concat(
  Array.from({ length: 9 }, (_, i) => `$${i + 1}`),
)

export function lockdown(): void {
  installDeterminism()
  installConsole()
  for (const name of removedGlobals) Reflect.deleteProperty(globalThis, name)
  for (const name of regexpStatics) remove(RegExp, name)
  // `compile` changes even a frozen regex in place.
  remove(RegExp.prototype, "compile")
  remove(Array, "fromAsync")
  const hidden = hiddenIntrinsics()
  refuseCodeFromText(hidden)
  const world = reachable([globalThis, ...hidden])
  for (const each of world) if (isPrototype(each)) mendOverrideMistake(each)
  for (const each of reachable([globalThis, ...hidden])) Object.freeze(each)
}

function remove(from: object, name: string): void {
  if (!Reflect.deleteProperty(from, name)) throw new Error(`${name} can't be removed`)
}

/** Returns built-ins without a global name. */
function hiddenIntrinsics(): object[] {
  const samples: unknown[] = [
    function* () {},
    async () => {},
    async function* () {},
    [][Symbol.iterator](),
    ""[Symbol.iterator](),
    new Map().entries(),
    new Set().values(),
    "".matchAll(/x/g),
    ...iteratorHelpers(),
    new Intl.Segmenter().segment(""),
    new Intl.Segmenter().segment("")[Symbol.iterator](),
    new Uint8Array(0),
  ]
  return samples.flatMap((sample) => prototypesOf(sample as object))
}

function iteratorHelpers(): unknown[] {
  const given = { next: () => ({ done: true, value: undefined }) }
  const { Iterator } = globalThis as unknown as { Iterator: { from(of: object): { map(by: (each: unknown) => unknown): unknown } } }
  const wrapped = Iterator.from(given)
  return [wrapped, wrapped.map((each) => each)]
}

function prototypesOf(value: object): object[] {
  const found: object[] = []
  for (let at = Object.getPrototypeOf(value); at !== null; at = Object.getPrototypeOf(at)) found.push(at)
  return found
}

/** `Function("...")` and related constructors throw. `instanceof Function` still works. */
function refuseCodeFromText(hidden: readonly object[]): void {
  const prototypes = [
    Function.prototype,
    ...hidden.filter((each) => String(Object.getOwnPropertyDescriptor(each, Symbol.toStringTag)?.value).endsWith("Function")),
  ]
  for (const prototype of prototypes) {
    const name = prototype === Function.prototype ? "Function" : String(Reflect.get(prototype, Symbol.toStringTag))
    const stub = {
      [name]: () => {
        throw new EvalError(`${name} compiles text to code, which a transform may not do`)
      },
    }[name] as object
    Object.defineProperty(stub, "prototype", { value: prototype, writable: false })
    Object.defineProperty(prototype, "constructor", { value: stub, writable: true, configurable: true })
    if (name === "Function") Object.defineProperty(globalThis, "Function", { value: stub, writable: true, configurable: true })
  }
}

/** Returns everything reachable from the roots: values, accessors and prototypes. */
function reachable(roots: readonly object[]): Set<object> {
  const found = new Set<object>()
  const waiting: unknown[] = [...roots]
  while (waiting.length > 0) {
    const each = waiting.pop()
    if (each === null || (typeof each !== "object" && typeof each !== "function") || found.has(each as object)) continue
    const intrinsic = each as object
    found.add(intrinsic)
    waiting.push(Object.getPrototypeOf(intrinsic))
    for (const key of Reflect.ownKeys(intrinsic)) {
      const descriptor = Object.getOwnPropertyDescriptor(intrinsic, key)
      if (descriptor) waiting.push(descriptor.value, descriptor.get, descriptor.set)
    }
  }
  return found
}

function isPrototype(each: object): boolean {
  const maker = Object.getOwnPropertyDescriptor(each, "constructor")?.value
  return typeof maker === "function" && maker.prototype === each
}

/**
 * After a prototype is frozen, `out.constructor = ...` on an inheriting object throws or has no effect. As an accessor, the
 * property lets the assignment create an own property.
 */
function mendOverrideMistake(prototype: object): void {
  for (const key of Object.getOwnPropertyNames(prototype)) {
    const descriptor = Object.getOwnPropertyDescriptor(prototype, key)
    if (!descriptor?.configurable || !("value" in descriptor)) continue
    const { value, enumerable = false } = descriptor
    Object.defineProperty(prototype, key, {
      get: { get: () => value }.get,
      set: {
        set(this: Intrinsic, replacement: unknown) {
          if (this === prototype) throw new TypeError(`"${key}" of a built-in can't be changed`)
          if (Object.hasOwn(this, key)) this[key] = replacement
          else Object.defineProperty(this, key, { value: replacement, writable: true, enumerable: true, configurable: true })
        },
      }.set,
      enumerable,
      configurable: true,
    })
  }
}
