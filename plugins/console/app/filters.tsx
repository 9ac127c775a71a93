// Filters whose state is the address, so that a link shows the same.
import { escapeBidi } from "./foreign.tsx"
import { go, place } from "./place.ts"

export type Query = Readonly<Record<string, string>>

/** What stands behind the `?` of the address. */
export function query(): Query {
  return Object.fromEntries(place.value.searchParams)
}

/** This place with other filters; empty ones are left out. */
export function hrefWith(change: Query): string {
  const entries = Object.entries({ ...query(), ...change }).filter(([, value]) => value !== "")
  const search = entries.length > 0 ? `?${new URLSearchParams(entries)}` : ""
  return place.value.pathname + search
}

/** In place of the present address, without a step back to it, unless asked for. */
export function setQuery(change: Query, { isStep = false } = {}): void {
  go(hrefWith(change), { replace: !isStep })
}

export interface Filter {
  readonly name: string
  readonly label?: string
  /** Values to choose of, with what they are called where that is another word; a text otherwise. */
  readonly choices?: readonly (string | readonly [value: string, title: string])[]
  /** What stands where nothing is chosen; "any" unless given. Not a choice itself then. */
  readonly otherwise?: string
  readonly placeholder?: string
  /** Values offered as a text is typed, each with what it is called; others may be typed too. */
  readonly suggestions?: readonly (readonly [value: string, title: string])[]
  /** Told to who points at it. */
  readonly about?: string
}

interface FilterBarArgs {
  readonly filters: readonly Filter[]
  readonly resets?: readonly string[]
  readonly verb?: string
}

/** Applied when something is chosen, or at Enter; drops what `resets` names, such as the cursor. */
export function FilterBar({ filters, resets = ["cursor"], verb = "Filter" }: FilterBarArgs) {
  const values = query()
  const apply = (change: Query) => setQuery({ ...change, ...Object.fromEntries(resets.map((name) => [name, ""])) }, { isStep: true })
  const isFiltered = filters.some(({ name }) => values[name])
  return (
    <form
      class="filters"
      aria-label={verb}
      onSubmit={(event) => {
        event.preventDefault()
        apply(Object.fromEntries(new FormData(event.currentTarget)) as Query)
      }}
    >
      {filters.map(({ name, label = name, choices, otherwise = "any", placeholder = "", suggestions, about }) => (
        <div key={`${name} ${values[name] ?? ""}`} title={about}>
          <label for={`filter-${name}`}>{label}</label>
          {choices ? (
            <select
              id={`filter-${name}`}
              name={name}
              value={values[name] ?? ""}
              onChange={(event) => apply({ [name]: event.currentTarget.value })}
            >
              <option value="">{otherwise}</option>
              {choices
                .map((choice) => (typeof choice === "string" ? ([choice, choice.replaceAll("_", " ")] as const) : choice))
                .filter(([value]) => value !== otherwise)
                .map(([value, title]) => (
                  <option key={value} value={value}>
                    {escapeBidi(title)}
                  </option>
                ))}
            </select>
          ) : (
            <input
              id={`filter-${name}`}
              name={name}
              type="text"
              defaultValue={values[name] ?? ""}
              placeholder={placeholder}
              autocomplete="off"
              {...(suggestions && { list: `filter-${name}-suggestions` })}
            />
          )}
          {suggestions && (
            <datalist id={`filter-${name}-suggestions`}>
              {suggestions.map(([value, title]) => (
                <option key={value} value={value} label={escapeBidi(title)} />
              ))}
            </datalist>
          )}
        </div>
      ))}
      <button type="submit">{verb}</button>
      {isFiltered && (
        <a href={hrefWith(Object.fromEntries([...filters.map(({ name }) => [name, ""]), ...resets.map((name) => [name, ""])]))}>Clear</a>
      )}
    </form>
  )
}

interface TabsArgs {
  readonly name: string
  readonly tabs: readonly (readonly [key: string, title: string])[]
  /** What of the address is of the part that is left. */
  readonly drops?: readonly string[]
}

/** Parts of a screen, of which one is shown; which one is in the address. */
export function Tabs({ name, tabs, drops = [] }: TabsArgs) {
  const [first] = tabs
  const current = query()[name] || first?.[0]
  const without = Object.fromEntries(drops.map((dropped) => [dropped, ""]))
  return (
    <nav class="tabs" aria-label="Views">
      {tabs.map(([key, title]) => (
        <a
          key={key}
          href={hrefWith({ ...without, [name]: key === first?.[0] ? "" : key })}
          aria-current={key === current ? "page" : undefined}
        >
          {title}
        </a>
      ))}
    </nav>
  )
}

/** A link to the page of a list that follows; nothing where the list ends. */
export function NextPage({ cursor }: { readonly cursor: string }) {
  if (cursor === "") return null
  return (
    <p>
      <a href={hrefWith({ cursor })}>Next page</a>
    </p>
  )
}
