// The contract of action types distinguishes good from bad actions. For each promise, an action breaks only this promise and is
// tested like a user's.

import { once } from "node:events"
import { createServer, get, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { expect } from "chai"
import { z } from "zod"
import { AppError, defineAction, defineCollection, definePlugin, OutgoingHttp, Store, template } from "#core"
import { contractOf } from "#core/testing"
import type { Action, AnyAction } from "../../core/contract/action.ts"
import type { CollectionSpec } from "../../core/contract/collection.ts"
import { type Subject, tried } from "./contract-bench.ts"

const config = z.strictObject({ note: template(z.string()).optional(), api_key: z.string().optional() })
type Config = typeof config

/** A deferred action that honours every promise except for `change`. */
function action<R extends Record<string, never>>(change: Partial<Action<Config, z.ZodType, R>> & Pick<Action<Config, z.ZodType>, "run">) {
  return defineAction({
    type: "sample.act",
    summary: "Act.",
    timing: "deferred" as const,
    config,
    result: z.object({ ok: z.boolean() }),
    examples: [{ title: "Act", yaml: 'type: sample.act\nnote: "{{ event.name }}"\napi_key: example-key' }],
    ...change,
  })
}

function pluginOf(sample: AnyAction, collection: CollectionSpec) {
  return definePlugin({
    id: "sample",
    config: z.strictObject({}),
    register: (registrar) => {
      registrar.collections(collection)
      registrar.actions(sample)
    },
  })
}

const inject = { http: OutgoingHttp } as never
const url = "https://peer.example.com/act"
const httpOf = (deps: unknown) => (deps as { http: OutgoingHttp }).http

describe("the contract of action types", () => {
  it("is kept by an action that does as it says, given as it is or in its plugin", async () => {
    const good = action({
      idempotency: "idempotency_key",
      inject,
      async run({ config, context, deps }) {
        context.log.info({ api_key: config.api_key }, "acts")
        const { idempotencyKey, signal } = context
        await httpOf(deps).fetch({ url, method: "POST", headers: { authorization: config.api_key ?? "" }, idempotencyKey, signal })
        return { ok: true }
      },
    })
    const { ran, failed } = await tried(good, /./)
    expect(failed).to.deep.equal({})
    expect(ran).to.deep.equal([
      "runs its example: Act",
      "refuses fields that it does not have",
      "sends the same idempotency key, retried after a crash or replayed",
      "obeys its deadline",
      "keeps secrets of its config out of journal, logs and errors",
      "reaches nothing of another organization",
      "leaves no handle and no listener behind, started and stopped twice",
    ])
    const plugin = definePlugin({
      id: "sample",
      needs: ["outgoing-http"],
      config: z.strictObject({}),
      register: (registrar) => registrar.actions(good),
    })
    expect(await tried(plugin, /example/)).to.deep.equal({ ran: ["runs its example: Act"], failed: {} })
  })

  it("is broken by an example that does not compile, that does not run, or whose result is another", async () => {
    const example = (note: string) => ({ title: note, yaml: `type: sample.act\nnote: ${JSON.stringify(note)}` })
    const bad = action({
      examples: [...["fine", "{{ nobody.there }}", "fail", "wrong", "more"].map(example), { title: "other", yaml: "type: respond" }],
      run({ config: { note } }) {
        if (note === "fail")
          throw new AppError("failed_precondition", "The moon is in the wrong quarter.", { reason: "job_failed", retryable: false })
        return note === "wrong" ? { ok: "yes" } : note === "more" ? { ok: true, more: 1 } : { ok: true }
      },
    })
    const { failed } = await tried(bad, /example/)
    expect(Object.keys(failed).map((title) => title.replace("runs its example: ", ""))).to.deep.equal([
      "{{ nobody.there }}",
      "fail",
      "wrong",
      "more",
      "other",
    ])
    const [template, fail, wrong, more, other] = Object.values(failed)
    expect(template).to.include('"nobody" does not exist, so it cannot be read')
    expect(fail).to.include("The moon is in the wrong quarter.").and.include("`event`")
    expect(wrong).to.include("not as declared").and.include("/ok")
    expect(more).to.include("undeclared fields")
    expect(other).to.include('one of "respond"')
  })

  it("is broken by one that calls others past the service", async () => {
    const requests: string[] = []
    const peer = createServer((request, response) => {
      requests.push(String(request.url))
      response.end()
    })
    await once(peer.listen(0, "127.0.0.1"), "listening")
    const origin = `127.0.0.1:${(peer.address() as AddressInfo).port}`
    try {
      const ownWay = action({
        async run() {
          await (await fetch(`http://${origin}/fetched`)).text()
          const [answer] = (await once(get(`http://${origin}/got`), "response")) as [IncomingMessage]
          answer.resume()
          return { ok: true }
        },
      })
      const { failed } = await tried(ownWay, /example/)
      expect(requests).to.deep.equal(["/fetched", "/got"])
      expect(Object.values(failed).join()).to.include(`calls http://${origin}, ${origin} directly`)
    } finally {
      peer.close()
    }
  })

  it("is broken by a config that takes unknown fields, at its top or within", async () => {
    const run = () => ({ ok: true })
    const open = { ...action({ run }), config: z.object({ note: template(z.string()).optional(), api_key: z.string().optional() }) }
    const within = { ...action({ run }), config: config.extend({ deep: z.object({ a: z.string().optional() }).optional() }) }
    const refuses = "refuses fields that it does not have"
    expect((await tried(open, /refuses/)).failed[refuses]).to.include("z.strictObject")
    expect((await tried(within, /refuses/)).failed[refuses]).to.include("at /deep;")
  })

  it("is broken by an action that repeats what it says it does not, or marks it again", async () => {
    const twice = action({
      idempotency: "exactly_once",
      inject,
      run: async ({ deps, context }) => {
        await httpOf(deps).fetch({ url, idempotencyKey: context.idempotencyKey })
        return { ok: true }
      },
    })
    expect(Object.values((await tried(twice, /second effect|same idempotency key/)).failed).join()).to.match(
      /makes 3 calls after a crash and a replay, and 1/,
    )
    const marked = (key: () => string | undefined) =>
      action({
        idempotency: "idempotency_key",
        inject,
        async run({ deps }) {
          const idempotencyKey = key()
          await httpOf(deps).fetch({ url, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) })
          return { ok: true }
        },
      })
    expect(
      Object.values(
        (
          await tried(
            marked(() => crypto.randomUUID()),
            /second effect|same idempotency key/,
          )
        ).failed,
      ).join(),
    ).to.include("another Idempotency-Key")
    expect(
      Object.values(
        (
          await tried(
            marked(() => undefined),
            /second effect|same idempotency key/,
          )
        ).failed,
      ).join(),
    ).to.include("carries no Idempotency-Key")
  })

  it("is broken by one that changes a document a second time", async () => {
    const Counters = defineCollection<{ id: string; n: number }>()({
      name: "sample_counters",
      scope: "organization",
      times: [],
      indexes: [],
    })
    const counting = (timing: "commit" | "deferred") =>
      action({
        timing,
        idempotency: "exactly_once",
        run({ work, context }) {
          work.in(Counters, context.organization.id).update("main", { $inc: { n: 1 } }, { upsert: true })
          return { ok: true }
        },
      })
    for (const timing of ["commit", "deferred"] as const) {
      const { failed } = await tried(pluginOf(counting(timing), Counters), /second effect|same idempotency key/)
      expect(Object.values(failed).join(), timing).to.match(/"n":2.* in sample_counters after a .*"n":1/)
    }
  })

  it("is broken by a commit action that does not wait for the commit", async () => {
    const Notes = defineCollection<{ id: string; note: string }>()({ name: "sample_notes", scope: "organization", times: [], indexes: [] })
    const eager = action({
      timing: "commit",
      inject: { store: Store } as never,
      async run({ deps, context }) {
        const { store } = deps as unknown as { store: Store }
        const doc = { id: crypto.randomUUID(), note: "" }
        await store.commit({ id: doc.id, writes: [{ kind: "insert", collection: Notes, organization: context.organization.id, doc }] })
        return { ok: true }
      },
    })
    const { ran, failed } = await tried(pluginOf(eager, Notes), /leaves nothing behind/)
    expect(ran).to.deep.equal(["leaves nothing behind when it fails"])
    expect(Object.values(failed).join()).to.include("left documents in sample_notes")
  })

  it("is broken by an action that goes on after its deadline, or never ends", async () => {
    const deaf = action({
      inject,
      run: async ({ deps }) => ({ ok: (await httpOf(deps).fetch({ url, timeoutMs: 60_000 })).status === 200 }),
    })
    expect((await tried(deaf, /deadline/)).failed["obeys its deadline"]).to.include("pass `context.signal`")
  })

  it("is kept by one that ends at its deadline on a machine that stood still meanwhile", async () => {
    const stopped = new Int32Array(new SharedArrayBuffer(4))
    const held = action({
      inject,
      async run({ deps, context: { signal } }) {
        Atomics.wait(stopped, 0, 0, 10_500)
        await httpOf(deps).fetch({ url, signal })
        return { ok: true }
      },
    })
    expect((await tried(held, /deadline/)).failed).to.deep.equal({})
  })

  it("is broken by a secret in a line of the log, in an error or in a result", async () => {
    const leaking = (leak: (key: string, log: (text: string) => void) => { ok: boolean; key?: string }) =>
      action({
        result: z.object({ ok: z.boolean(), key: z.string().optional() }),
        run: ({ config, context }) => leak(config.api_key ?? "", (text) => context.log.debug(text)),
      })
    const failuresOf = async (leak: Parameters<typeof leaking>[0]) => Object.values((await tried(leaking(leak), /secrets/)).failed).join()
    expect(
      await failuresOf((key, log) => {
        log(`calls with ${key}`)
        return { ok: true }
      }),
    ).to.include("appears in the logs")
    expect(
      await failuresOf((key) => {
        throw new AppError("unavailable", `${key} is refused`, { reason: "unavailable" })
      }),
    ).to.include("appears in the journal")
    expect(await failuresOf((key) => ({ ok: true, key }))).to.include("appears in the journal")
  })

  it("is broken by what is kept of one organization and shown to another", async () => {
    let text: string | undefined
    const forgetful = action({
      result: z.object({ ok: z.boolean(), of: z.string() }),
      run({ context }) {
        text ??= context.organization.id
        return { ok: true, of: text }
      },
    })
    const organizations: string[] = []
    const reset = (world: unknown) => {
      organizations.push(String(world))
      text = undefined
      return Promise.resolve()
    }
    const { failed } = await tried(forgetful, /another organization/, { prepare: reset })
    expect(organizations).not.to.deep.equal([])
    expect(Object.values(failed).join()).to.match(/gets at another's: "[0-9a-f-]{36}" shows/)
  })

  it("is broken by a timer or a listener that outlives the service, or the step", async () => {
    const timers: NodeJS.Timeout[] = []
    const listeners: (() => void)[] = []
    const leaking = (leak: (signal: AbortSignal) => void, timing: "commit" | "deferred" = "deferred") =>
      action({
        timing,
        run({ context }) {
          leak(context.signal)
          return { ok: true }
        },
      })
    const failuresOf = async (subject: Subject) => Object.values((await tried(subject, /no handle/)).failed).join()
    try {
      expect(await failuresOf(leaking(() => void timers.push(setInterval(() => {}, 60_000))))).to.match(/\d+ × Timeout/)
      const listen = () => {
        const listener = () => {}
        listeners.push(listener)
        process.on("SIGUSR2", listener)
      }
      expect(await failuresOf(leaking(listen))).to.include('× listener of process "SIGUSR2"')
      const heed = (signal: AbortSignal) => signal.addEventListener("abort", () => {})
      expect(await failuresOf(leaking(heed, "commit"))).to.include("listener on `context.signal`")
      expect(await failuresOf(leaking(() => {}, "commit"))).to.equal("")
    } finally {
      for (const timer of timers) clearInterval(timer)
      for (const listener of listeners) process.off("SIGUSR2", listener)
    }
  })

  it("says what is amiss with its own use: no action in a plugin, no runner", () => {
    const empty = definePlugin({ id: "empty", config: z.strictObject({}), register: () => {} })
    expect(() => contractOf(empty)).to.throw('The plugin "empty" declares no action type.')
    const { describe: own } = globalThis
    try {
      Object.assign(globalThis, { describe: undefined })
      expect(() => contractOf(action({ run: () => ({ ok: true }) }))).to.throw("finds no describe here")
    } finally {
      Object.assign(globalThis, { describe: own })
    }
  })
})
