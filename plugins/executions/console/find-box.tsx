// Anything that is known of an event, pasted.
import { hrefWith, setQuery } from "#console"

const maxText = 2_000

export function FindBox({ text }: { readonly text: string }) {
  return (
    <form
      class="filters whole"
      aria-label="Find"
      onSubmit={(event) => {
        event.preventDefault()
        const given = String(new FormData(event.currentTarget).get("find") ?? "").trim()
        setQuery({ find: given.slice(0, maxText), cursor: "" }, { isStep: true })
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
