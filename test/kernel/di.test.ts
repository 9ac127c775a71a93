// Services are created once, after their dependencies. Errors name the services involved.
import { expect } from "chai"
import { z } from "zod"
import { definePlugin, registerPlugin } from "../../core/contract/registrar.ts"
import { Container, type Deps, token } from "../../core/kernel/di.ts"
import { Registry } from "../../core/kernel/registry.ts"

const A = token<string>("A")
const B = token<string>("B")
const C = token<string>("C")

describe("container", () => {
  it("makes each service once, on first use, after what it injects", () => {
    const container = new Container()
    const created: string[] = []
    const make = (name: string) => () => {
      created.push(name)
      return name
    }
    container.provide(A, { inject: { b: B, c: C }, create: ({ b, c }) => `${make("a")()}${b}${c}` })
    container.provide(B, { inject: { c: C }, create: make("b") })
    container.provide(C, { create: make("c") })
    expect(created).to.deep.equal([])
    expect(container.get(A)).to.equal("abc")
    container.everything()
    expect(created.sort()).to.deep.equal(["a", "b", "c"])
    expect(container.created.map(({ name }) => name)).to.deep.equal(["C", "B", "A"])
  })

  it("tells two tokens of one name apart", () => {
    const container = new Container()
    const [first, second] = [token<number>("same"), token<number>("same")]
    container.value(first, 1)
    container.value(second, 2)
    expect([container.get(first), container.get(second)]).to.deep.equal([1, 2])
  })

  it("keeps containers apart", () => {
    new Container().value(A, "elsewhere")
    const container = new Container()
    expect(container.has(A)).to.equal(false)
    expect(() => container.get(A)).to.throw('Nothing provides "A"')
  })

  it("names both providers of one token, and keeps the first", () => {
    const container = new Container()
    container.value(A, "x", "datasets")
    expect(() => container.value(A, "y", "pages")).to.throw('"A" is provided by both datasets and pages')
    expect(container.get(A)).to.equal("x")
  })

  it("names who injects what nobody provides", () => {
    const container = new Container()
    container.provide(A, { inject: { b: B }, create: () => "a" })
    expect(() => container.get(A)).to.throw('Nothing provides "B", which "A" injects.')
  })

  it("creates a class from its static inject, under the class itself", () => {
    class Greeting {
      static readonly inject = { name: A }
      readonly text: string
      constructor({ name }: Deps<typeof Greeting.inject>) {
        this.text = `Hello ${name}`
      }
    }
    class Letter {
      static readonly inject = { greeting: Greeting }
      readonly greeting: Greeting
      constructor({ greeting }: Deps<typeof Letter.inject>) {
        this.greeting = greeting
      }
    }
    const container = new Container()
    registerPlugin(
      definePlugin({
        id: "letters",
        config: z.strictObject({}),
        register(registrar) {
          registrar.provide(A, { create: () => "Ada" })
          registrar.provide(Letter, { stop: () => undefined })
          registrar.provide(Greeting)
        },
      }),
      {},
      container,
      new Registry(),
    )
    expect(container.get(Letter).greeting).to.equal(container.get(Greeting)).and.to.include({ text: "Hello Ada" })
    expect(container.neededBy([Letter]).map(({ name }) => name)).to.deep.equal(["A", "Greeting", "Letter"])
  })

  it("names the whole of a circle", () => {
    const container = new Container()
    container.provide(A, { inject: { b: B }, create: () => "a" })
    container.provide(B, { inject: { c: C }, create: () => "b" })
    container.provide(C, { inject: { a: A }, create: () => "c" })
    expect(() => container.get(A)).to.throw("have circular dependencies: A -> B -> C -> A.")
  })

  it("tells every problem of making everything, each once", () => {
    const container = new Container()
    const [D, E] = [token<string>("D"), token<string>("E")]
    container.provide(A, { inject: { b: B }, create: () => "a" })
    container.provide(C, { inject: { b: B }, create: () => "c" })
    container.provide(D, {
      create: () => {
        throw new Error("D has no disk.")
      },
    })
    container.provide(E, { create: () => "e" })
    expect(() => container.everything()).to.throw(/"A" injects.*\n.*"C" injects.*\nD has no disk\./)
    expect(container.created.map(({ name }) => name)).to.deep.equal(["E"])
  })
})
