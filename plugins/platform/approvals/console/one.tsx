// One approval: the exact input, the requester, and the decision.
import { useSignal } from "@preact/signals"
import {
  Ago,
  Answered,
  confirmed,
  Facts,
  inBackground,
  mayCall,
  me,
  Problem,
  parseExact,
  SameAs,
  type ScreenProps,
  Time,
  UntrustedText,
  useAnswer,
  useSubmit,
  Value,
} from "#console"
import { type Approval, State } from "./card.tsx"

export default function ApprovalScreen({ params }: ScreenProps) {
  const { id = "" } = params
  const answer = useAnswer("approvals.get", { id })
  const nameOf = useNames()
  return (
    <>
      <p>
        <a href="/console/approvals">Approvals</a>
      </p>
      <Answered of={answer}>
        {(approval) => (
          <>
            <h1>
              <UntrustedText text={approval.what} />
            </h1>
            <p>
              <State state={approval.state} /> <UntrustedText text={approval.why} />
            </p>
            <div class="split">
              <section aria-label="Exact input">
                <h2>Exactly what would be done</h2>
                <Value value={approval.input} />
                {approval.hidden.map(({ path, characters }) => (
                  <p key={path}>
                    <UntrustedText text={path} /> hides {characters} characters.
                  </p>
                ))}
                {approval.target !== null && (
                  <>
                    <h2>Whom it reaches</h2>
                    <Value value={approval.target} />
                  </>
                )}
              </section>
              <section aria-label="Where it comes from">
                <h2>Where it comes from</h2>
                <Facts
                  of={[
                    [approval.subject.kind, approval.subject.name],
                    ["risk", approval.risk],
                    ["gate", approval.gate],
                    ["asked by", approval.requester.credential_id === null ? approval.requester.surface : nameOf(approval.requester)],
                    ["asked", <Time key="asked" value={approval.created_at} />],
                    ["expires", <Ago key="expires" value={approval.expires_at} />],
                    ["digest", <code key="digest">{approval.digest}</code>],
                  ]}
                />
              </section>
            </div>
            {approval.state === "pending" ? (
              mayCall("approvals.decide") &&
              (isOwn(approval) ? (
                <p>This is your own request. Another admin decides. The only admin signs in by email code and decides here.</p>
              ) : (
                <Decision approval={approval} onDone={answer.reload} />
              ))
            ) : (
              <Decided approval={approval} nameOf={nameOf} />
            )}
          </>
        )}
      </Answered>
      <SameAs name="approvals.get" input={{ id }} />
    </>
  )
}

/**
 * Keys never decide their own requests. In an interactive session the service decides: by default a single admin may decide own
 * requests, but not if the organization has two or more admins.
 */
function isOwn({ requester }: Approval): boolean {
  const { credential, user } = me.value ?? {}
  if (me.value && "sign_in" in me.value && me.value.sign_in) return false
  return requester.credential_id === credential?.id || (requester.user_id !== null && requester.user_id === user?.id)
}

/** The decision includes the digest of the displayed input. The service refuses another digest. */
function Decision({ approval: { id, digest, what, input }, onDone }: { readonly approval: Approval; readonly onDone: () => void }) {
  const note = useSignal("")
  const edited = useSignal(JSON.stringify(input, null, 2))
  const { submit, isBusy, error } = useSubmit("approvals.decide", {
    id,
    digest,
    decision: "approve",
    ...(note.value !== "" && { note: note.value }),
  })
  const problem = useSignal("")
  const decide = async (decision: "approve" | "reject" | "edit") => {
    problem.value = ""
    let change = {}
    if (decision === "edit") {
      const input = parseExact(edited.value)
      if (input === undefined) {
        problem.value = "What is to be done instead is not JSON."
        return
      }
      change = { input }
    }
    const verb = { approve: "Approve", reject: "Reject", edit: "Approve with changes" }[decision]
    if (!(await confirmed({ title: `${verb}?`, text: what, verb, isDangerous: true }))) return
    if (await submit({ id, digest, decision, ...(note.value === "" ? {} : { note: note.value }), ...change })) onDone()
  }
  const button = (decision: "approve" | "reject" | "edit", text: string, look = "") => (
    <button type="button" class={look} aria-disabled={isBusy} onClick={() => inBackground(decide(decision))}>
      {text}
    </button>
  )
  return (
    <section aria-label="Decision">
      <h2>Decide</h2>
      <div class="field">
        <label for="note">Note, for the record</label>
        <input
          id="note"
          value={note.value}
          onInput={(event) => {
            note.value = event.currentTarget.value
          }}
        />
      </div>
      <div class="verbs">
        {button("approve", "Approve", "primary")}
        {button("reject", "Reject", "danger")}
      </div>
      <details>
        <summary>Approve with changes</summary>
        <div class="field">
          <label for="edited">What is to be done instead, whole</label>
          <textarea
            id="edited"
            rows={10}
            value={edited.value}
            onInput={(event) => {
              edited.value = event.currentTarget.value
            }}
          />
        </div>
        {button("edit", "Approve with changes")}
      </details>
      {(problem.value || error) && <Problem text={problem.value || (error?.message ?? "")} />}
    </section>
  )
}

interface DecidedArgs {
  readonly approval: Approval
  readonly nameOf: (of: Asker) => string
}

function Decided({ approval: { decided_by, decided_at, note, receipt }, nameOf }: DecidedArgs) {
  return (
    <section aria-label="Decision">
      <h2>What became of it</h2>
      <Facts
        of={[
          ["decided by", decided_by ? nameOf(decided_by) : "nobody"],
          ["decided", <Time key="decided" value={decided_at} />],
          ["note", note],
          ["carried out", <Time key="at" value={receipt?.at} />],
          ["result", receipt ? <Value key="result" value={receipt.error?.message ?? receipt.result} /> : ""],
        ]}
      />
    </section>
  )
}

interface Asker {
  readonly credential_id: string | null
  readonly user_id: string | null
}

/** Returns a function for the name of a person or of a service's key. */
function useNames(): (of: Asker) => string {
  const people = useAnswer(mayCall("members.list") ? "members.list" : undefined, { limit: 200 }).answer
  const keys = useAnswer(mayCall("api_keys.list") ? "api_keys.list" : undefined, { limit: 200 }).answer
  return ({ user_id, credential_id }) => {
    if (user_id === null) return keys?.api_keys.find(({ id }) => id === credential_id)?.name ?? "a service key or a heartbeat"
    const member = people?.members.find((person) => person.user_id === user_id)
    if (member) return member.name || member.email || "the first owner"
    return people?.next_cursor === "" ? "a former member" : user_id
  }
}
