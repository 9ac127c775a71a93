// The organization's pages, newest first.
import {
  Answered,
  FilterBar,
  hrefOf,
  NextPage,
  Nothing,
  OperationDetails,
  query,
  SameAs,
  Table,
  Time,
  UntrustedText,
  useAnswer,
} from "#console"
import { Status, statuses } from "./page.tsx"

export default function Pages() {
  const { status = "", cursor = "" } = query()
  const input = { ...(status && { status }), ...(cursor && { cursor }) }
  const listed = useAnswer("pages.list", input)
  return (
    <>
      <h1>Pages</h1>
      <FilterBar filters={[{ name: "status", choices: statuses }]} />
      <Answered of={listed}>
        {({ pages, next_cursor }) => (
          <>
            {pages.length === 0 ? (
              <Nothing>A page is served by this service, each visitor in one of its variants, and tells what visitors did.</Nothing>
            ) : (
              <Table
                label="Pages"
                rows={pages}
                keyOf={({ id }) => id}
                columns={[
                  {
                    name: "title",
                    show: ({ slug, title }) => (
                      <a href={hrefOf(["pages", slug])}>
                        <UntrustedText text={title} />
                      </a>
                    ),
                  },
                  { name: "status", show: (page) => <Status status={page.status} /> },
                  { name: "published", show: ({ published_at }) => published_at && <Time value={published_at} /> },
                  { name: "changed", show: ({ updated_at }) => <Time value={updated_at} /> },
                  { name: "slug", show: ({ slug }) => <code>{slug}</code> },
                ]}
              />
            )}
            <NextPage cursor={next_cursor} />
          </>
        )}
      </Answered>
      <OperationDetails title="Make a page" name="pages.create" onDone={listed.reload} />
      <SameAs name="pages.list" input={input} />
    </>
  )
}
