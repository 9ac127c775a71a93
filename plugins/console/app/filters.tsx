// Filters with their state in the URL, so a link shows the same list.
import { escapeBidi } from "./foreign.tsx"
import { go, place } from "./place.ts"

export type Query = Readonly<Record<string, string>>

/** Returns the query of the URL. */
export function query(): Query {
  return Object.fromEntries(place.value.searchParams)
}

/** Returns this place with changed filters. Empty filters are left out. */
export function hrefWith(change: Query): string {
  const entries = Object.entries({ ...query(), ...change }).filter(([, value]) => value !== "")
  const search = entries.length > 0 ? `?${new URLSearchParams(entries)}` : ""
  return place.value.pathname + search
}

/** Replaces the current URL. `isStep` adds a history entry instead. */
export function setQuery(change: Query, { isStep = false } = {}): void {
  go(hrefWith(change), { replace: !isStep })
}

export interface Filter {
  readonly name: string
  readonly label?: string
  /** Selectable values with optional titles. Without choices the filter is a text. */
  readonly choices?: readonly (string | readonly [value: string, title: string])[]
  /** Label of the empty selection, "any" by default. It is not a choice. */
  readonly otherwise?: string
  readonly placeholder?: string
  /** Suggested values with titles while typing. Other values are allowed. */
  readonly suggestions?: readonly (readonly [value: string, title: string])[]
  /** Tooltip. */
  readonly about?: string
}

interface FilterBarArgs {
  readonly filters: readonly Filter[]
  readonly resets?: readonly string[]
  readonly verb?: string
}

/** Applies on selection or Enter. Drops the fields in `resets`, such as the cursor. */
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
  /** Query fields of the previous tab. */
  readonly drops?: readonly string[]
}

/** Tabs of a screen. The URL contains the selected tab. */
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

/** A link to the next page of a list. Hidden at the end of the list. */
export function NextPage({ cursor }: { readonly cursor: string }) {
  if (cursor === "") return null
  return (
    <p>
      <a href={hrefWith({ cursor })}>Next page</a>
    </p>
  )
}
