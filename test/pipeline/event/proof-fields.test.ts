// Proof fields of the sender, removed from the body before any other use.
import { expect } from "chai"
import { withoutFields } from "../../../core/pipeline/event/request.ts"

describe("the fields of a body that held the proof", () => {
  it("are removed wherever they stand, and nothing else is", () => {
    const paths = ["token", "auth.key", "a.b", "missing.x", "__proto__.y", "list.1.key", "list.7.key"]
    const body = { token: "t", auth: { key: "k", kept: 1 }, "a.b": "dotted", list: [{ key: 1 }, { key: 2, kept: 3 }] }
    expect(JSON.parse(withoutFields(JSON.stringify(body), paths) ?? "")).to.deep.equal({
      auth: { kept: 1 },
      list: [{ key: 1 }, { kept: 3 }],
    })
  })

  it("leave long integers their digits", () => {
    expect(withoutFields('{"token":"t","id":9007199254740993}', ["token"])).to.equal('{"id":9007199254740993}')
  })
})
