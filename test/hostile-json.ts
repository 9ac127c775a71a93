// JSON keys and values that a library may misinterpret: BSON types, extended JSON, prototypes, promises, query operators, dates,
// numbers at their limits.
import type { Json } from "../core/contract/collection.ts"

const oid = "65f1c0ffee65f1c0ffee65f1"

/** Objects that look like instances of another library. */
const shapes: readonly Json[] = [
  { _bsontype: "ObjectId", id: oid },
  { _bsontype: "ObjectID", id: { type: "Buffer", data: [1, 2, 3] } },
  { _bsontype: "Long", low: 1, high: 2, unsigned: false },
  { _bsontype: "Binary", sub_type: 0, position: 1, buffer: { 0: 1 } },
  { _bsontype: "Decimal128", bytes: [1] },
  { _bsontype: "DBRef", collection: "x", oid: 1, db: "y", fields: {} },
  { _bsontype: "Code", code: "process.exit(1)", scope: {} },
  { _bsontype: "MinKey" },
  { _bsontype: "unknown" },
  { _bsontype: 1 },
  { _bsontype: null },
  { _bsontype: { _bsontype: { _bsontype: "Int32", value: 7 } } },
  { $ref: "other", $id: 1 },
  { $id: "https://example.com/a", $ref: "#/definitions/a" },
  { z: 1, $id: { deep: [1] }, $ref: "a.b", $db: "c", a: 2 },
  { $ref: "a", $id: null, $plain: 1 },
  { $plain: { $plain: null }, $ref: 1 },
  { $oid: oid },
  { $date: "2026-01-01T00:00:00Z" },
  { $date: { $numberLong: "1" } },
  { $numberDecimal: "1.5" },
  { $binary: { base64: "AA==", subType: "00" } },
  { $regex: ".*", $options: "i" },
  { $where: "sleep(1000)" },
  { $gt: "" },
  { $set: { admin: true } },
  { $each: [1], $slice: 1 },
  { $literal: { $rand: {} } },
  { type: "Buffer", data: [104, 105] },
  { buffer: "x", byteLength: 4, BYTES_PER_ELEMENT: 1 },
]

/** Field names, tested with values of several kinds. */
const names: readonly string[] = [
  "_bsontype",
  "toBSON",
  "toJSON",
  "toString",
  "valueOf",
  "then",
  "catch",
  "constructor",
  "prototype",
  "hasOwnProperty",
  "length",
  "id",
  "_id",
  "organization_id",
  "inspect",
  "Symbol(nodejs.util.inspect.custom)",
  "0",
  "-1",
  "é",
  "e\u0301",
  " ",
  "\u2028",
  "😀",
  "$",
  "$plain",
  "a.b",
]

/** Values of one field. */
const values: readonly Json[] = [
  ["_bsontype", { _bsontype: "Timestamp" }, [[{ _bsontype: [] }]]],
  "2026-01-01T00:00:00.000Z",
  "2026-01-01",
  "9007199254740993",
  9007199254740991,
  -9007199254740991,
  2147483648,
  -2147483649,
  1e308,
  5e-324,
  0.1,
  1e21,
  "NaN",
  "Infinity",
  "",
  "null",
  "[object Object]",
  "𝄞 \ufeff \u0001 \\u0000",
  "$values.secret",
  "{{ secret }}",
  true,
  null,
  [],
  {},
  [null, [], {}],
]

type Case = readonly [title: string, value: { [name: string]: Json }]

/** All cases by name: an object to store below one field of a document. */
export const hostileJson: readonly Case[] = [
  ...shapes.map((value): Case => [JSON.stringify(value).slice(0, 60), { shape: value, listed: [value], deep: { in: { it: [[value]] } } }]),
  ...names.map(
    (name): Case => [`field ${JSON.stringify(name)}`, { of: { [name]: "text" }, a: { [name]: { [name]: [1, { [name]: null }] } } }],
  ),
  ...values.map((value): Case => [`value ${JSON.stringify(value).slice(0, 60)}`, { plain: value, listed: [value] }]),
]
