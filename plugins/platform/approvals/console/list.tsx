// Approvals by state, pending approvals first.
import { Ago, Answered, Badge, FilterBar, NextPage, Nothing, query, SameAs, Table, Time, UntrustedText, useAnswer } from "#console"
import { type Approval, State } from "./card.tsx"

const states = ["pending", "approved", "rejected", "expired", "done", "failed"]

export default function Approvals() {
  const { state = "", cursor = "" } = query()
  const input = { ...(state === "" ? {} : { state }), ...(cursor === "" ? {} : { cursor }) }
  const list = useAnswer("approvals.list", input, { everyMs: 10_000 })
  return (
    <>
      <h1>Approvals</h1>
      <FilterBar filters={[{ name: "state", choices: states }]} />
      <Answered of={list}>
        {({ approvals, next_cursor }) => (
          <>
            {approvals.length === 0 ? (
              <Nothing>Steps, operations and jobs with a gate wait here for a person.</Nothing>
            ) : (
              <Table<Approval>
                label="Approvals"
                rows={approvals}
                keyOf={({ id }) => id}
                columns={[
                  {
                    name: "what",
                    show: ({ id, what }) => (
                      <a href={`/console/approvals/${id}`}>
                        <UntrustedText text={what} />
                      </a>
                    ),
                  },
                  { name: "state", show: ({ state }) => <State state={state} /> },
                  { name: "risk", show: ({ risk }) => <Badge>{risk}</Badge> },
                  { name: "for", show: ({ subject }) => subject.name },
                  { name: "asked", show: ({ created_at }) => <Time value={created_at} /> },
                  { name: "expires", show: ({ expires_at }) => <Ago value={expires_at} /> },
                ]}
              />
            )}
            <NextPage cursor={next_cursor} />
          </>
        )}
      </Answered>
      <SameAs name="approvals.list" input={input} />
    </>
  )
}
