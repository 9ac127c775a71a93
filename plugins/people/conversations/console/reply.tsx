// The reply form: current permission with reasons, a text or an approved template, and messages with pending approval.
import { useSignal } from "@preact/signals"
import { type Answer, Badge, inBackground, type Output, Problem, SameAs, Time, UntrustedText, useAnswer, useSubmit } from "#console"

export interface ReplyArgs {
  readonly channel: "chat_app" | "sms"
  readonly from: string
  readonly to: string
  /** Pending approvals of the organization. */
  readonly waiting: Answer<Output<"approvals.list">>
  readonly onSent: () => void
}

/** Returns the rules with a veto against a text now. The list is empty if sending is allowed. */
export function useStanding(asked: { readonly channel: string; readonly from: string; readonly to: string } | undefined, every: number) {
  const { channel, from, to: phone } = asked ?? { channel: "", from: "", to: "" }
  const read = useAnswer(asked && "consents.check", { channel, from, phone }, { everyMs: every })
  const rules = read.answer?.addresses.flatMap((one) => one.rules) ?? []
  return { ...read, forbidding: rules.filter(({ verdict }) => verdict === "forbids"), rules }
}

export function StandingLine({ of: { answer, rules, forbidding } }: { readonly of: ReturnType<typeof useStanding> }) {
  if (!answer) return null
  const window = rules.find(({ rule }) => rule === "window")
  return (
    <section aria-label="May they be written to">
      {answer.allowed ? (
        <p>
          <Badge tone="good">may be written to</Badge> {window && <UntrustedText text={window.why} />}
        </p>
      ) : (
        forbidding.map(({ rule, why, until }) => (
          <p key={rule}>
            <Badge tone="warning">{rule.replaceAll("_", " ")}</Badge> <UntrustedText text={why} />{" "}
            {until && (
              <>
                until <Time value={until} />
              </>
            )}
          </p>
        ))
      )}
    </section>
  )
}

export function Reply({ channel, from, to, waiting, onSent }: ReplyArgs) {
  const text = useSignal("")
  const template = useSignal("")
  const values = useSignal("")
  const isChat = channel === "chat_app"
  const templates = useAnswer(isChat ? "phone_numbers.templates" : undefined, {
    number: from,
    limit: 200,
  })
  const { submit, isBusy, answer, error } = useSubmit("conversations.send")
  const approved = templates.answer?.templates.filter(({ status }) => status === "APPROVED") ?? []
  const chosen = approved.find((one) => nameOf(one) === template.value)
  const input = {
    ...{ channel, from, to },
    ...(chosen
      ? { template: { name: chosen.name, language: chosen.language, components: componentsOf(values.value) } }
      : { text: text.value }),
  }
  const send = async () => {
    if (!(await submit(input))) return
    text.value = ""
    template.value = ""
    values.value = ""
    onSent()
  }
  return (
    <form
      aria-label="Answer"
      onSubmit={(event) => {
        event.preventDefault()
        inBackground(send())
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        inBackground(send())
      }}
    >
      <h2>Answer</h2>
      {approved.length > 0 && (
        <div class="field">
          <label for="template">Template</label>
          <select
            id="template"
            value={template.value}
            onChange={(event) => {
              template.value = event.currentTarget.value
            }}
          >
            <option value="">none, a text of one's own</option>
            {approved.map((one) => (
              <option key={nameOf(one)} value={nameOf(one)}>
                {nameOf(one)}
              </option>
            ))}
          </select>
        </div>
      )}
      {chosen ? (
        <div class="field">
          <label for="values">Values of its variables, one a line</label>
          <textarea
            id="values"
            rows={3}
            value={values.value}
            onInput={(event) => {
              values.value = event.currentTarget.value
            }}
          />
        </div>
      ) : (
        <div class="field">
          <label for="text">Text</label>
          <textarea
            id="text"
            rows={3}
            dir="auto"
            maxLength={isChat ? 4_096 : 1_600}
            value={text.value}
            onInput={(event) => {
              text.value = event.currentTarget.value
            }}
          />
        </div>
      )}
      <div class="verbs">
        <button type="submit" class="primary" aria-disabled={isBusy} disabled={!chosen && text.value.trim() === ""}>
          Send
        </button>
        <kbd>Ctrl Enter</kbd>
      </div>
      {error && error.code !== "unavailable" && <Problem text={error.message} />}
      <p role="status">{answer && <Outcome of={answer} />}</p>
      <Pending of={waiting} channel={channel} to={to} />
      <SameAs name="conversations.send" input={input} />
    </form>
  )
}

function Outcome({ of: { state, send_at } }: { readonly of: Output<"conversations.send"> }) {
  if (state === "pending_approval") return <>It waits for approval.</>
  if (send_at === null || Date.parse(send_at) <= Date.now()) return <>It is being sent.</>
  return (
    <>
      It is quiet where they are; it is sent at <Time value={send_at} />.
    </>
  )
}

/** Messages to this person with a pending approval. */
function Pending({
  of: { answer },
  channel,
  to,
}: {
  readonly of: Answer<Output<"approvals.list">>
  readonly channel: string
  readonly to: string
}) {
  const own = (answer?.approvals ?? []).filter(({ gate, input }) => {
    const asked = input as { readonly to?: unknown; readonly channel?: unknown } | null
    return gate === "conversations.send" && asked?.to === to && asked.channel === channel
  })
  if (own.length === 0) return null
  return (
    <section aria-label="Waiting for approval">
      <h3>Waiting for approval</h3>
      <ul class="lines">
        {own.map(({ id, what }) => (
          <li key={id}>
            <a href={`/console/approvals/${id}`}>
              <UntrustedText text={what} />
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}

const nameOf = ({ name, language }: { readonly name: string; readonly language: string }) => `${name} (${language})`

function componentsOf(values: string): object[] {
  const given = values.split("\n").filter((line) => line.trim() !== "")
  return given.length === 0 ? [] : [{ type: "body", parameters: given.map((text) => ({ type: "text", text })) }]
}
