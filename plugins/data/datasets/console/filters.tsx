// Edits the filter in the address: a condition on one column, or any filter of the API.
import { exactNumber, hrefWith, parseExact, query, setQuery } from "#console"
import { type Dataset, nameOfColumn } from "./columns.tsx"

const comparisons = [
  ["", "is"],
  ["$ne", "is not"],
  ["$gt", "above"],
  ["$gte", "at least"],
  ["$lt", "below"],
  ["$lte", "at most"],
] as const

export function Filters({ dataset: { columns } }: { readonly dataset: Dataset }) {
  const { filter = "" } = query()
  const add = (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const { column = "", comparison = "", value = "" } = Object.fromEntries(new FormData(form)) as Record<string, string>
    const type = columns.find(({ name }) => nameOfColumn(name) === column)?.type
    const typed = typedValue(value, type)
    const condition = { [column]: comparison === "" ? typed : { [comparison]: typed } }
    setQuery({ filter: joined(filter, condition), row: "" }, { isStep: true })
    form.reset()
  }
  return (
    <>
      <form class="filters" aria-label="Add a condition" onSubmit={add}>
        <div>
          <label for="column">column</label>
          <select id="column" name="column">
            {[...columns.map(({ name }) => nameOfColumn(name)), "created_at", "id"].map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </div>
        <div>
          <label for="comparison">comparison</label>
          <select id="comparison" name="comparison">
            {comparisons.map(([sign, words]) => (
              <option key={sign} value={sign}>
                {words}
              </option>
            ))}
          </select>
        </div>
        <div>
          <label for="value">value</label>
          <input id="value" name="value" autocomplete="off" />
        </div>
        <button type="submit">Add</button>
      </form>
      <form
        class="filters whole"
        aria-label="Filter"
        onSubmit={(event) => {
          event.preventDefault()
          setQuery({ filter: String(new FormData(event.currentTarget).get("filter") ?? ""), row: "" }, { isStep: true })
        }}
      >
        <div>
          <label for="filter">filter, as the API takes it</label>
          <input id="filter" key={filter} name="filter" defaultValue={filter} placeholder='{"budget":{"$gte":1000}}' autocomplete="off" />
        </div>
        <button type="submit">Filter</button>
        {filter !== "" && <a href={hrefWith({ filter: "", row: "" })}>Clear</a>}
      </form>
    </>
  )
}

function typedValue(text: string, type: string | undefined): unknown {
  if (type === "number") return exactNumber(text) ?? text
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true"
  return text
}

/** Combines both conditions. Invalid JSON is sent unchanged, and the service reports its errors. */
function joined(filter: string, condition: object): string {
  const earlier = parseExact(filter)
  return JSON.stringify(earlier === undefined ? condition : { $and: [earlier, condition] })
}
