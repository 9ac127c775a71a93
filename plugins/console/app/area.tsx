// An area without a screen of its own, out of its operations: its lists, what it has one of, a search, and forms.

import { areaOf, capital, may, type Operation, operations, type Row, verbOf, words } from "./api.ts"
import { viewOf } from "./contributions.ts"
import { FilterBar, query, Tabs } from "./filters.tsx"
import { Form } from "./form.tsx"
import { List } from "./list.tsx"
import { isList, kindOf, kindRead, listField, mainKind, makersOf, pathFields } from "./paths.ts"
import { hrefOf, place } from "./place.ts"
import { fieldsOf, isRequired } from "./schema.ts"
import { Thing } from "./thing.tsx"

export function Area({ area }: { readonly area: string }) {
  if (!operations.value.some((one) => areaOf(one) === area && may(one))) return <Nowhere />
  const { title, about } = viewOf(area)
  const own = operations.value.filter((one) => areaOf(one) === area && may(one) && pathFields(one).length === 0)
  const reads = own.filter((one) => one.readOnly && one.method === "GET" && !one.streams && !asked(one))
  const parts = [...reads.filter(isList), ...reads.filter((one) => !isList(one))]
  const search = own.find((one) => isList(one) && asked(one) !== undefined)
  const part = parts.find(({ name }) => name === query()["list"]) ?? parts[0]
  const kind = mainKind(area)
  const others = [...own.filter((one) => !parts.includes(one) && one !== search && !isOf(parts, one)), ...(kind ? makersOf(kind) : [])]
  const isSearching = search !== undefined && Boolean(query()[asked(search) ?? ""])
  return (
    <>
      <h1>{title}</h1>
      {about && <p class="about">{about}</p>}
      {others.length > 0 && (
        <nav aria-label={`What can be done: ${title}`} class="verbs">
          {others.map((one) =>
            one.streams ? (
              <a key={one.name} href={one.path} download>
                {verbOf(one)}
              </a>
            ) : (
              <a key={one.name} href={hrefOf([area, "-", one.name])} class="button">
                {verbOf(one)}
              </a>
            ),
          )}
        </nav>
      )}
      {search && <Search search={search} />}
      {!isSearching && parts.length > 1 && (
        <Tabs name="list" tabs={parts.map((one) => [one.name, partTitle(one)])} drops={[...place.value.searchParams.keys()]} />
      )}
      {isSearching ? null : part ? (
        <Part key={part.name} part={part} />
      ) : (
        search === undefined && <p class="nothing">Nothing can be listed here; choose what to do.</p>
      )}
    </>
  )
}

function Part({ part }: { readonly part: Operation }) {
  return isList(part) ? <List list={part} values={[]} /> : <Thing kind={kindRead(part)} values={[]} />
}

/** The text that a list cannot do without: it is a search then. */
function asked(operation: Operation): string | undefined {
  return fieldsOf(operation).find(([name]) => isRequired(operation, name))?.[0]
}

/** Changes what is shown by one of the parts, and stands there. */
function isOf(parts: readonly Operation[], { path, readOnly, method }: Operation): boolean {
  return !readOnly && method !== "POST" && parts.some((one) => one.path === path)
}

function partTitle(operation: Operation): string {
  return capital(isList(operation) ? words(listField(operation) ?? "") : verbOf(operation).replace(/^Get /, ""))
}

function Search({ search }: { readonly search: Operation }) {
  const field = asked(search) ?? ""
  const text = query()[field] ?? ""
  return (
    <>
      <FilterBar
        filters={[{ name: field, label: "Search", placeholder: "words, or a question" }]}
        resets={["cursor", "offset"]}
        verb="Search"
      />
      {text !== "" && (
        <section aria-label="Found">
          <h2>
            Found for <bdi>{text}</bdi>
          </h2>
          <List list={search} values={[]} fixed={{ [field]: text }} kind={mainKind(areaOf(search))} />
        </section>
      )}
    </>
  )
}

/** One of the area's main kind. */
export function One({ area, id }: { readonly area: string; readonly id: string }) {
  const kind = mainKind(area)
  return kind ? <Thing kind={kind} values={[id]} /> : <Nowhere />
}

/** What an old or mistyped address shows, and one of what the role may not do. */
function Nowhere() {
  return (
    <>
      <h1>Nothing is here</h1>
      <p role="alert">This address leads to nothing, or to nothing that your role is shown.</p>
      <p>
        <a href={hrefOf([])}>Overview</a>
      </p>
    </>
  )
}

/** A place of one operation: what it reads, else its form. */
export function Do({ name }: { readonly name: string }) {
  const operation = operations.value.find((one) => one.name === name)
  if (!operation || !may(operation)) return <Nowhere />
  const known = Object.fromEntries(place.value.searchParams)
  const isKnown = fieldsOf(operation).every(([field]) => field in known || !isRequired(operation, field))
  if (operation.method === "GET" && (isList(operation) || isKnown)) return <Read operation={operation} known={known} />
  return (
    <>
      <Above operation={operation} title={verbOf(operation)} />
      <Form key={name} operation={operation} known={known} />
    </>
  )
}

function Above({ operation, title }: { readonly operation: Operation; readonly title: string }) {
  const area = areaOf(operation)
  return (
    <>
      <p>
        <a href={hrefOf([area])}>{viewOf(area).title}</a>
      </p>
      <h1>{title}</h1>
    </>
  )
}

function Read({ operation, known }: { readonly operation: Operation; readonly known: Row }) {
  const values = pathFields(operation).map((field) => String(known[field] ?? ""))
  if (!isList(operation)) {
    return (
      <>
        {values.length === 0 && <Above operation={operation} title={verbOf(operation)} />}
        <Thing kind={kindRead(operation)} values={values} />
      </>
    )
  }
  const kind = kindOf(operation)
  const id = String(known["id"] ?? "")
  if (kind && id !== "") return <Thing kind={kind} values={[...values, id]} />
  return (
    <>
      <Above operation={operation} title={words(listField(operation) ?? "")} />
      <List list={operation} values={values} />
    </>
  )
}
