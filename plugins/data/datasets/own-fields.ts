// Names of a row's own fields, and of columns with the same name. Senders often have a column `id` or `created_at`.

export const ownFields = ["id", "created_at", "updated_at"] as const
const own: ReadonlySet<string> = new Set(ownFields)

export function isOwnField(name: string): boolean {
  return own.has(name)
}

/** `values.id` for the column `id`: filters, sorts and CSV say so. Other columns keep their name. No column name holds a dot. */
export function nameOfColumn(column: string): string {
  return own.has(column) ? `values.${column}` : column
}

/** `values.id`, a path into that column, or the same below a column `values`: `values.values.id`. */
const qualified = new RegExp(`^values\\.(?:values\\.)*(?:${ownFields.join("|")})(?:\\.|$)`)

/** Returns true if the name says that it means a column, as `values.id` does. */
export function isQualified(name: string): boolean {
  return qualified.test(name)
}
