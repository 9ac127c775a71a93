// Extension points of plugins: the items of a point, and the report of a refused start.
import { expect } from "chai"
import { z } from "zod"
import { Clock, defineExtensionPoint, definePlugin, injected, token } from "#core"
import { testHost } from "#core/testing"
import { failureOf } from "../refusal.ts"

type Greet = (name: string) => string

const Greetings = defineExtensionPoint<Greet>({ id: "test-greeter.greetings" })
const Greeter = token<{ greetings: readonly Greet[] }>("Greeter")
const config = z.strictObject({})
const register = () => undefined

const greeter = definePlugin({
  id: "test-greeter",
  config,
  extensionPoints: [Greetings],
  extend: [[Greetings, (name) => `own ${name}`]],
  register: (registrar) => registrar.provide(Greeter, { inject: { greetings: Greetings }, create: (deps) => deps }),
})
const needs = ["test-greeter"]

describe("extension points", () => {
  it("give a service the items of all plugins, each plugin after its needs", async () => {
    const last = definePlugin({
      id: "test-last",
      needs: ["test-greeter", "test-first"],
      config: z.strictObject({ sign: z.string().default("!") }),
      extend: ({ sign }) => [[Greetings, (name: string) => `last ${name}${sign}`]],
      register,
    })
    const first = definePlugin({
      id: "test-first",
      needs,
      config,
      extend: [
        [
          Greetings,
          injected(
            { clock: Clock },
            ({ clock }) =>
              (name: string) =>
                `${typeof clock.now()} ${name}`,
          ),
        ],
        // An item may depend on the service that uses the item.
        [Greetings, injected({ greeter: Greeter }, (deps) => () => `${deps.greeter.greetings.length} greetings`)],
      ],
      register,
    })
    const host = await testHost({ plugins: [last, first, greeter] })
    try {
      const spoken = host.get(Greeter).greetings.map((greet) => greet("Ada"))
      expect(spoken).to.deep.equal(["own Ada", "number Ada", "4 greetings", "last Ada!"])
    } finally {
      await host.stop()
    }
  })

  it("are empty without items", async () => {
    const alone = { ...greeter, extend: [] as const }
    const host = await testHost({ plugins: [alone] })
    try {
      expect(host.get(Greeter).greetings).to.deep.equal([])
    } finally {
      await host.stop()
    }
  })

  it("refuse missing points, illegal edges and duplicates in one report", async () => {
    const greet: Greet = (name) => name
    const Unloaded = defineExtensionPoint<Greet>({ id: "test-absent.greetings" })
    const Namesake = defineExtensionPoint<Greet>({ id: "test-greeter.greetings" })
    const Foreign = defineExtensionPoint<Greet>({ id: "email.greetings" })
    const Required = defineExtensionPoint<Greet>({ id: "test-required.greetings", isRequired: true })
    const plugins = [
      greeter,
      definePlugin({ id: "test-lost", config, extend: [[Unloaded, greet]], register }),
      definePlugin({ id: "test-edge", config, extend: [[Greetings, greet]], register }),
      definePlugin({
        id: "test-twice",
        needs,
        config,
        extend: [
          [Greetings, greet],
          [Greetings, greet],
        ],
        register,
      }),
      definePlugin({ id: "test-namesake", needs, config, extend: [[Namesake, greet]], register }),
      definePlugin({ id: "test-foreign", config, extensionPoints: [Foreign, Foreign], register }),
      definePlugin({ id: "test-required", config, extensionPoints: [Required], register }),
      definePlugin({ id: "test-needs", needs: ["test-nowhere"], config, register }),
    ]
    const { message } = await failureOf(testHost({ plugins }))
    const point = "test-greeter.greetings"
    for (const problem of [
      'The plugin "test-lost" extends "test-absent.greetings", but no loaded plugin declares this extension point.',
      `The plugin "test-edge" extends "${point}", but does not need "test-greeter". Add "test-greeter" to its needs.`,
      `The plugin "test-twice" extends "${point}" twice with the same item; remove one.`,
      `The plugin "test-namesake" extends "${point}", but "test-greeter" declares another extension point with this id.`,
      'The extension point "email.greetings" of the plugin "test-foreign" must be named "test-foreign.<name>".',
      'The extension point "email.greetings" is declared by both test-foreign and test-foreign; rename one.',
      'The plugin "test-required" requires an item for "test-required.greetings", but no loaded plugin adds one.',
      'The plugin "test-needs" needs "test-nowhere", which is not loaded.',
    ])
      expect(message).to.include(problem)
  })
})
