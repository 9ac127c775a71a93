// The person's sessions, with device and last use. Each can be ended.
import { Ago, Answered, Badge, NextPage, OperationButton, type Output, query, Table, Time, useAnswer } from "#console"

type Session = Output<"sessions.list">["sessions"][number]

const methods: Readonly<Record<string, string>> = {
  email_code: "by mail",
  passkey: "by passkey",
  oidc: "by single sign-on",
  bootstrap: "by the link of the first start",
}

export const methodName = (method: string): string => methods[method] ?? method

export function Sessions() {
  const { cursor = "" } = query()
  const list = useAnswer("sessions.list", cursor === "" ? {} : { cursor })
  return (
    <section aria-label="Sessions">
      <h2>Sessions</h2>
      <Answered of={list}>
        {({ sessions, next_cursor }) => (
          <>
            {sessions.length === 0 ? (
              <p class="nothing">You have no session. This browser is signed in with a key.</p>
            ) : (
              <Table<Session>
                label="Your sessions"
                rows={sessions}
                keyOf={({ id }) => id}
                columns={[
                  { name: "device", show: ({ device }) => device.replace(/^./u, (letter) => letter.toUpperCase()) || "Unknown device" },
                  { name: "address", show: ({ address }) => address },
                  { name: "signed in", show: ({ signed_in_at }) => <Time value={signed_in_at} /> },
                  { name: "how", show: ({ method }) => methodName(method) },
                  { name: "last use", show: ({ last_used_at, signed_in_at }) => <Ago value={last_used_at ?? signed_in_at} /> },
                  {
                    name: "actions",
                    title: <span class="skip">Actions</span>,
                    show: (session) => <End of={session} onDone={list.reload} />,
                  },
                ]}
              />
            )}
            <NextPage cursor={next_cursor} />
            {sessions.some(({ current }) => !current) && (
              <OperationButton
                operation="sessions.end_others"
                input={{}}
                ask="End all other sessions?"
                about="Other browsers of yours are signed out at once."
                onDone={list.reload}
              >
                End all other sessions
              </OperationButton>
            )}
          </>
        )}
      </Answered>
    </section>
  )
}

function End({ of: { id, current, device }, onDone }: { readonly of: Session; readonly onDone: () => void }) {
  if (current) return <Badge tone="good">this browser</Badge>
  return (
    <OperationButton operation="sessions.end" input={{ id }} ask={`End the session of ${device || "an unknown device"}?`} onDone={onDone}>
      End
    </OperationButton>
  )
}
