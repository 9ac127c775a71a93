// Events of all pipelines, newest first and live: filtered, or found by any text of the event.
import "./events.css"
import { useRef } from "preact/hooks"
import {
  Answered,
  FilterBar,
  formatNumber,
  hrefOf,
  hrefWith,
  mayCall,
  momentOf,
  Nothing,
  query,
  SameAs,
  setQuery,
  Time,
  useAnswer,
} from "#console"
import { type Filter, useArrivals } from "./arrivals.ts"
import { EventTable, statuses } from "./event.tsx"

const pageSize = 100
const maxFoundText = 2_000

export default function Events() {
  const { find = "" } = query()
  return (
    <>
      <h1>Events</h1>
      {mayCall("events.find") && <FindBox text={find} />}
      {find === "" || !mayCall("events.find") ? <List /> : <Found text={find} />}
    </>
  )
}

function filterOfPlace(): Filter {
  const { pipeline, status, cause, test, since, until } = query()
  const given = {
    pipeline,
    status,
    cause,
    since: since && momentOf(since),
    until: until && momentOf(until),
    is_test: test && test === "yes",
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== "")) as Filter
}

function List() {
  const { cursor = "" } = query()
  const filter = filterOfPlace()
  const input = { ...filter, limit: pageSize, ...(cursor === "" ? {} : { cursor }) }
  const listed = useAnswer("events.list", input)
  const arrivals = useArrivals(filter, cursor === "", listed.reload)
  const kept = useRef(listed.answer)
  if (!arrivals.isHeld) kept.current = listed.answer
  const shown = arrivals.isHeld && kept.current ? { ...listed, answer: kept.current } : listed
  return (
    <>
      <FilterBar
        filters={[
          { name: "pipeline", placeholder: "slug" },
          { name: "status", choices: statuses },
          { name: "cause" },
          { name: "test", choices: ["yes", "no"] },
          { name: "since", placeholder: "2026-11-23 17:15" },
          { name: "until", placeholder: "2026-11-23 18:00" },
        ]}
      />
      {cursor === "" ? (
        <div class="verbs live">
          <button type="button" onClick={arrivals.isHeld ? arrivals.goOn : arrivals.hold}>
            {arrivals.isHeld ? "Go on" : "Pause"}
          </button>
          <span role="status" class="about">
            {lineOf(arrivals)}
          </span>
        </div>
      ) : (
        <p>
          <a href={hrefWith({ cursor: "" })}>Newest</a>
        </p>
      )}
      {mayCall("replay_plans.create") && filter.pipeline !== undefined && (
        <p>
          <a href={hrefOf(["replay_plans"], { ...planOf(filter), new: "yes" })}>Replay these</a>
        </p>
      )}
      <Answered of={shown}>
        {({ events, next_cursor }) => (
          <>
            {events.length === 0 ? (
              <Nothing>
                {Object.keys(filter).length > 0 ? "No event is like this." : "Nothing came in yet. What pipelines receive shows up here."}
              </Nothing>
            ) : (
              <EventTable label="Events" events={events} />
            )}
            {next_cursor !== "" && (
              <p>
                <a href={hrefWith({ cursor: next_cursor })}>Older</a>
              </p>
            )}
          </>
        )}
      </Answered>
      <SameAs name="events.list" input={input} />
    </>
  )
}

/** Returns the filter as field values of the form for a replay plan. */
function planOf(filter: Filter): Record<string, string> {
  return Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, String(value)]))
}

function lineOf({ isHeld, held, hasMore, live }: ReturnType<typeof useArrivals>): string {
  if (live.problem !== "") return live.problem
  if (isHeld) return `Paused; ${formatNumber(held)}${hasMore ? " or more" : ""} came since.`
  if (live.caughtUp > 0) return `Live; ${formatNumber(live.caughtUp)} came while the connection was lost.`
  return "Live: events appear as they come."
}

function Found({ text }: { readonly text: string }) {
  const input = { text, limit: pageSize }
  const found = useAnswer("events.find", input)
  return (
    <>
      <Answered of={found}>
        {({ events, complete, indexed_through }) => (
          <>
            <p role="status" class="about">
              {events.length === 1 ? "1 event" : `${formatNumber(events.length)} events`}
              {complete ? "." : ", and there may be more: give more of it."}{" "}
              {indexed_through !== "" && (
                <>
                  Indexed through <Time value={indexed_through} />; of later ones the newest were read.
                </>
              )}
            </p>
            {events.length === 0 ? (
              <Nothing>No event that is kept holds all of these words. Parts of words are not found.</Nothing>
            ) : (
              <EventTable label="Events" events={events} />
            )}
          </>
        )}
      </Answered>
      <SameAs name="events.find" input={input} />
    </>
  )
}

/** Searches by any text of an event. */
function FindBox({ text }: { readonly text: string }) {
  return (
    <form
      class="filters whole"
      aria-label="Find"
      onSubmit={(event) => {
        event.preventDefault()
        const given = String(new FormData(event.currentTarget).get("find") ?? "").trim()
        setQuery({ find: given.slice(0, maxFoundText), cursor: "" }, { isStep: true })
      }}
    >
      <div>
        <label for="find">find by anything: an id, an address, an order number, a URL, a piece of the payload</label>
        <input id="find" key={text} name="find" type="search" defaultValue={text} autocomplete="off" spellcheck={false} />
      </div>
      <button type="submit">Find</button>
      {text !== "" && <a href={hrefWith({ find: "" })}>Show all</a>}
    </form>
  )
}
