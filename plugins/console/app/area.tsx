// The generic page of an area, built from its operations: lists, single resources, a search and forms.

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
  if (!operations.value.some((operation) => areaOf(operation) === area && may(operation))) return <Nowhere />
  const { title, about } = viewOf(area)
  const areaOperations = operations.value.filter(
    (operation) => areaOf(operation) === area && may(operation) && pathFields(operation).length === 0,
  )
  const reads = areaOperations.filter(
    (operation) => operation.readOnly && operation.method === "GET" && !operation.streams && !requiredField(operation),
  )
  const parts = [...reads.filter(isList), ...reads.filter((operation) => !isList(operation))]
  const search = areaOperations.find((operation) => isList(operation) && requiredField(operation) !== undefined)
  const part = parts.find(({ name }) => name === query()["list"]) ?? parts[0]
  const kind = mainKind(area)
  const buttons = [
    ...areaOperations.filter((operation) => !parts.includes(operation) && operation !== search && !isOf(parts, operation)),
    ...(kind ? makersOf(kind) : []),
  ]
  const isSearching = search !== undefined && Boolean(query()[requiredField(search) ?? ""])
  return (
    <>
      <h1>{title}</h1>
      {about && <p class="about">{about}</p>}
      {buttons.length > 0 && (
        <nav aria-label={`What can be done: ${title}`} class="verbs">
          {buttons.map((operation) =>
            operation.streams ? (
              <a key={operation.name} href={operation.path} download>
                {verbOf(operation)}
              </a>
            ) : (
              <a key={operation.name} href={hrefOf([area, "-", operation.name])} class="button">
                {verbOf(operation)}
              </a>
            ),
          )}
        </nav>
      )}
      {search && <Search search={search} />}
      {!isSearching && parts.length > 1 && (
        <Tabs
          name="list"
          tabs={parts.map((operation) => [operation.name, partTitle(operation)])}
          drops={[...place.value.searchParams.keys()]}
        />
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

/** Returns the first required field of a list. A list with a required field is shown as a search. */
function requiredField(operation: Operation): string | undefined {
  return fieldsOf(operation).find(([name]) => isRequired(operation, name))?.[0]
}

/** Returns true if the operation changes one of these parts. Its form is then beside the part. */
function isOf(parts: readonly Operation[], { path, readOnly, method }: Operation): boolean {
  return !readOnly && method !== "POST" && parts.some((part) => part.path === path)
}

function partTitle(operation: Operation): string {
  return capital(isList(operation) ? words(listField(operation) ?? "") : verbOf(operation).replace(/^Get /, ""))
}

function Search({ search }: { readonly search: Operation }) {
  const field = requiredField(search) ?? ""
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

/** A single resource of the area's main kind. */
export function One({ area, id }: { readonly area: string; readonly id: string }) {
  const kind = mainKind(area)
  return kind ? <Thing kind={kind} values={[id]} /> : <Nowhere />
}

/** Shown for an unknown address, or for a page hidden from the role. */
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

/** The page of one operation: its result for a read, otherwise its form. */
export function Do({ name }: { readonly name: string }) {
  const operation = operations.value.find((candidate) => candidate.name === name)
  if (!operation || !may(operation)) return <Nowhere />
  const input = Object.fromEntries(place.value.searchParams)
  const isKnown = fieldsOf(operation).every(([field]) => field in input || !isRequired(operation, field))
  if (operation.method === "GET" && (isList(operation) || isKnown)) return <ReadResult operation={operation} known={input} />
  return (
    <>
      <Above operation={operation} title={verbOf(operation)} />
      <Form key={name} operation={operation} known={input} />
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

function ReadResult({ operation, known: input }: { readonly operation: Operation; readonly known: Row }) {
  const values = pathFields(operation).map((field) => String(input[field] ?? ""))
  if (!isList(operation)) {
    return (
      <>
        {values.length === 0 && <Above operation={operation} title={verbOf(operation)} />}
        <Thing kind={kindRead(operation)} values={values} />
      </>
    )
  }
  const kind = kindOf(operation)
  const id = String(input["id"] ?? "")
  if (kind && id !== "") return <Thing kind={kind} values={[...values, id]} />
  return (
    <>
      <Above operation={operation} title={words(listField(operation) ?? "")} />
      <List list={operation} values={values} />
    </>
  )
}
