// A sending domain: each expected DNS record with a copy button, beside the result of a check.
import { useSignal } from "@preact/signals"
import {
  Ago,
  Answered,
  Badge,
  Copy,
  Facts,
  go,
  OperationButton,
  OperationDetails,
  SameAs,
  type ScreenProps,
  Table,
  type Tone,
  UntrustedText,
  useAnswer,
  visible,
} from "#console"
import { Status } from "./card.tsx"

interface Check {
  readonly record: string
  readonly name: string
  readonly type: string
  readonly state: "ok" | "wrong" | "unknown"
  readonly expected: string
  readonly found: readonly string[]
  readonly where: string
  readonly fix: string
}

interface Row {
  readonly name: string
  readonly type: string
  readonly value: string
  readonly check: Check | undefined
}

const tones: Readonly<Record<Check["state"], Tone>> = { ok: "good", wrong: "bad", unknown: "warning" }

export default function DomainScreen({ params }: ScreenProps) {
  const { domain = "" } = params
  const read = useAnswer("sending_domains.get", { domain })
  const checks = useSignal<readonly Check[]>([])
  const input = { domain }
  return (
    <>
      <p>
        <a href="/console/sending_domains">Sending domains</a>
      </p>
      <h1>{domain}</h1>
      <Answered of={read}>
        {(shown) => (
          <>
            <p>
              <Status status={shown.status} /> checked <Ago value={shown.last_checked_at} />
            </p>
            {[shown.error_reason, ...shown.warnings]
              .filter((text) => text !== "")
              .map((text) => (
                <p key={text} class="problem">
                  <UntrustedText text={text} />
                </p>
              ))}
            <div class="verbs">
              <OperationButton
                operation="sending_domains.verify"
                input={input}
                onDone={({ records }) => {
                  checks.value = records as Check[]
                  read.reload()
                }}
              >
                Check now
              </OperationButton>
              {shown.status === "disabled" ? (
                <OperationButton operation="sending_domains.enable" input={input} onDone={read.reload}>
                  Enable
                </OperationButton>
              ) : (
                <OperationButton operation="sending_domains.disable" input={input} ask={`Take ${domain} out of use?`} onDone={read.reload}>
                  Disable
                </OperationButton>
              )}
            </div>
            <h2>DNS records</h2>
            <Table<Row>
              label="DNS records"
              rows={shown.dns_records.map((record) => ({ ...record, check: checkOf(record, checks.value) }))}
              keyOf={({ name, type, value }) => `${name} ${type} ${value}`}
              columns={[
                { name: "type", show: ({ type }) => type },
                { name: "name", show: ({ name }) => <code>{visible(name)}</code> },
                { name: "expected", show: ({ value }) => <code>{visible(value)}</code> },
                { name: "copy", title: "", show: ({ value }) => <Copy text={value} /> },
                {
                  name: "found",
                  show: ({ check }) =>
                    check === undefined ? (
                      <span class="about">not checked here yet</span>
                    ) : (
                      <>
                        <Badge tone={tones[check.state]}>{check.state}</Badge>{" "}
                        {check.found.map((text) => (
                          <code key={text}>{visible(text)} </code>
                        ))}
                        {check.fix && <UntrustedText text={check.fix} isParagraph />}
                      </>
                    ),
                },
              ]}
            />
            <h2>Sender</h2>
            <Facts
              of={[
                ["from", shown.from_email || "only once it is active"],
                ["replies", shown.receiving_enabled ? "received here" : shown.forward_to_email || "not received"],
              ]}
            />
            <OperationDetails
              title="Change the sender"
              name="sending_domains.update"
              known={input}
              present={{ ...shown }}
              onStale={read.reload}
              onDone={read.reload}
            />
            <OperationDetails title="Delete" name="sending_domains.delete" known={input} onDone={() => go("/console/sending_domains")} />
          </>
        )}
      </Answered>
      <SameAs name="sending_domains.get" input={input} />
    </>
  )
}

function checkOf({ name, type }: { readonly name: string; readonly type: string }, checks: readonly Check[]): Check | undefined {
  return checks.find((check) => check.name === name && check.type === type)
}
