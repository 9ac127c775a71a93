// The person's passkeys: added in this browser, renamed and removed.
import { useSignal } from "@preact/signals"
import {
  Ago,
  Answered,
  hasPasskeys,
  inBackground,
  mayCall,
  OperationButton,
  type Output,
  Problem,
  Table,
  Time,
  useAnswer,
  useSubmit,
} from "#console"
import { useNewPasskey } from "./passkey-offer.tsx"

type Passkey = Output<"passkeys.list">["passkeys"][number]

export function Passkeys() {
  const list = useAnswer("passkeys.list")
  return (
    <section aria-label="Passkeys">
      <h2>Passkeys</h2>
      <Answered of={list}>
        {({ passkeys }) =>
          passkeys.length === 0 ? (
            <p class="about">A passkey signs you in with this device, without a mail.</p>
          ) : (
            <Table<Passkey>
              label="Your passkeys"
              rows={passkeys}
              keyOf={({ id }) => id}
              columns={[
                { name: "name", show: (passkey) => <Rename of={passkey} onDone={list.reload} /> },
                { name: "added", show: ({ created_at }) => <Time value={created_at} /> },
                { name: "last use", show: ({ last_used_at }) => <Ago value={last_used_at} /> },
                {
                  name: "actions",
                  title: <span class="skip">Actions</span>,
                  show: ({ id, name }) => (
                    <OperationButton
                      operation="passkeys.remove"
                      input={{ id }}
                      isDangerous
                      ask={`Remove the passkey ${name}?`}
                      about="It signs you in no longer. Sessions that it opened continue."
                      onDone={list.reload}
                    >
                      Remove
                    </OperationButton>
                  ),
                },
              ]}
            />
          )
        }
      </Answered>
      {mayCall("passkeys.add") && hasPasskeys() && <Add onDone={list.reload} />}
    </section>
  )
}

function Rename({ of: { id, name }, onDone }: { readonly of: Passkey; readonly onDone: () => void }) {
  const { submit, error } = useSubmit("passkeys.rename", { id, name })
  const rename = async (newName: string) => {
    if (newName !== name && (await submit({ id, name: newName }))) onDone()
  }
  return (
    <>
      <input
        aria-label={`Name of the passkey ${name}`}
        defaultValue={name}
        onChange={(event) => inBackground(rename(event.currentTarget.value))}
      />
      {error && <Problem text={error.message} />}
    </>
  )
}

function Add({ onDone }: { readonly onDone: () => void }) {
  const name = useSignal("This device")
  const { create, problem } = useNewPasskey()
  const add = async () => {
    if (await create(name.value)) onDone()
  }
  return (
    <form
      aria-label="Add a passkey"
      class="filters"
      onSubmit={(event) => {
        event.preventDefault()
        inBackground(add())
      }}
    >
      <div>
        <label for="passkey-name">Name</label>
        <input
          id="passkey-name"
          autocomplete="off"
          value={name.value}
          onInput={(event) => {
            name.value = event.currentTarget.value
          }}
        />
      </div>
      <button type="submit">Add a passkey</button>
      {problem && <Problem text={problem} />}
    </form>
  )
}
