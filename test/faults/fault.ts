// A seeded fault: a small change of the product that a test must notice.

export interface Fault {
  /** The broken rule, as the fault's result. */
  readonly rule: string
  /** Path of the source file. */
  readonly file: string
  /** Text of the source. It occurs once in the file: an expression, a property with its value, or statements from the start of a line. */
  readonly find: string
  /** The faulty text of the same kind. */
  readonly replace: string
  /** Test file and words of a title. The fault must fail this test. */
  readonly test: string
  readonly title: string
}

/** Returns a fault of one collection: every read of the collection crosses the wall between organizations. */
export function withoutWall(collection: string, rule: string, test: string, title: string): Fault {
  const find = "await this.#reads.driver.find({ ...query, collection: this.#spec, organization: this.#organization })"
  const everywhere = `(await Promise.all((await this.#reads.driver.organizationsIn(this.#spec)).map((organization) =>
    this.#reads.driver.find({ ...query, collection: this.#spec, organization })))).flat()`
  return {
    rule,
    file: "core/storage/store.ts",
    find,
    replace: `this.#spec.name === "${collection}" ? ${everywhere} : ${find}`,
    test,
    title,
  }
}
