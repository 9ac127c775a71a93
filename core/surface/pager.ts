// Keyset pagination. A cursor contains the sort values of the last document and a MAC. The MAC binds it to the organization, the
// list and the sort, so clients can neither change it nor use it elsewhere.
import { createHmac } from "node:crypto"
import type { Document } from "../contract/collection.ts"
import type { Pager } from "../contract/pagination.ts"
import type { Scalar, Sort } from "../contract/store.ts"
import { AppError } from "../kernel/errors.ts"
import { sameBytes } from "../kernel/vault.ts"

const macBytes = 16

export function createPager(deps: { key: Buffer }): Pager {
  const macOf = (scope: string, body: string) => createHmac("sha256", deps.key).update(`${scope}\n${body}`).digest().subarray(0, macBytes)

  const seal = (scope: string, values: readonly Scalar[]) => {
    const body = Buffer.from(JSON.stringify(values)).toString("base64url")
    return `${body}.${macOf(scope, body).toString("base64url")}`
  }

  const open = (scope: string, cursor: string): Scalar[] => {
    const [body = "", mac = "", ...rest] = cursor.split(".")
    const given = Buffer.from(mac, "base64url")
    const fits = rest.length === 0 && sameBytes(given, macOf(scope, body))
    if (!fits) throw foreignCursor()
    return JSON.parse(Buffer.from(body, "base64url").toString()) as Scalar[]
  }

  const pageOf: Pager["pageOf"] = async ({ organization, cursorScope, sort, request, read }) => {
    const order = totalOrder(sort)
    const scope = JSON.stringify([organization, cursorScope, order])
    const found = await read(request.limit + 1, request.cursor === "" ? undefined : open(scope, request.cursor))
    const items = found.slice(0, request.limit)
    const last = items.at(-1)
    const more = found.length > items.length && last !== undefined
    return { items, next_cursor: more ? seal(scope, valuesOf(last, order)) : "" }
  }

  return {
    pageOf,
    page({ collection, filter, ...args }) {
      const options = { sort: Object.fromEntries(totalOrder(args.sort)) as Sort }
      return pageOf({ ...args, read: (limit, after) => collection.find(filter, { ...options, limit, ...(after && { after }) }) })
    },
  }
}

function totalOrder(sort: Sort = { id: 1 }): [string, 1 | -1][] {
  const order = Object.entries(sort)
  if (!order.some(([path]) => path === "id")) order.push(["id", order.at(-1)?.[1] ?? 1])
  return order
}

function valuesOf(document: Document, order: readonly (readonly [string, 1 | -1])[]): Scalar[] {
  return order.map(([path]) => {
    let value: unknown = document
    for (const step of path.split(".")) value = (value as Record<string, unknown> | null | undefined)?.[step]
    return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null
  })
}

function foreignCursor(): AppError {
  const message = "This cursor was not made for this list, with these filters, in this organization. Start again without one."
  return new AppError("invalid_argument", message, { reason: "invalid_cursor", fields: [{ path: "cursor", message }] })
}
