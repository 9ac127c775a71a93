// Screen of one page: pictures of its variants, its address, its warnings and its actions.
import {
  Answered,
  Copy,
  Facts,
  formatShare,
  hrefOf,
  Lazy,
  mayCall,
  OperationButton,
  OperationForm,
  partsOf,
  query,
  SameAs,
  type ScreenProps,
  Table,
  Tabs,
  Time,
  UntrustedText,
  useAnswer,
  visible,
} from "#console"
import { type Page, Status } from "./page.tsx"
import { Preview } from "./preview.tsx"

export default function PageScreen({ params }: ScreenProps) {
  const { slug = "" } = params
  const read = useAnswer("pages.get", { slug })
  const { part = "preview" } = query()
  const parts = partsOf("pages/{slug}")
  return (
    <>
      <p>
        <a href={hrefOf(["pages"])}>Pages</a>
      </p>
      <Answered of={read}>
        {(page) => (
          <>
            <h1>
              <UntrustedText text={page.title} /> <Status status={page.status} />
            </h1>
            <Warnings warnings={page.warnings} />
            <Actions page={page} onDone={read.reload} />
            <Tabs
              name="part"
              tabs={[
                ["preview", "Preview"],
                ...parts.map(({ name, title }) => [name, title] as const),
                ["about", "About"],
                ...(mayCall("pages.update") ? ([["change", "Change"]] as const) : []),
              ]}
            />
            {part === "preview" && <Preview page={page} />}
            {parts.map(({ name, load }) => name === part && <Lazy key={name} load={load} props={{ subject: { ...page } }} />)}
            {part === "about" && <About page={page} />}
            {part === "change" && (
              <OperationForm name="pages.update" known={{ slug }} present={{ ...page }} onStale={read.reload} onDone={read.reload} />
            )}
          </>
        )}
      </Answered>
      {part !== "preview" && <SameAs name="pages.get" input={{ slug }} />}
    </>
  )
}

function Warnings({ warnings }: { readonly warnings: readonly string[] }) {
  return (
    <>
      {warnings.map((text) => (
        <p key={text} class="warning">
          <UntrustedText text={text} />
        </p>
      ))}
    </>
  )
}

function Actions({ page: { slug, title, status, url }, onDone }: { readonly page: Page; readonly onDone: () => void }) {
  const input = { slug }
  return (
    <div class="verbs">
      {status === "published" ? (
        <>
          <a href={url} target="_blank" rel="noopener noreferrer">
            Open as a visitor
          </a>
          <Copy text={url} name="address" />
          <OperationButton
            operation="pages.unpublish"
            input={input}
            ask={`Unpublish ${title}?`}
            about="Visitors are answered that the page does not exist."
            isDangerous
            onDone={onDone}
          >
            Unpublish
          </OperationButton>
        </>
      ) : (
        <OperationButton operation="pages.publish" input={input} onDone={onDone}>
          Publish
        </OperationButton>
      )}
    </div>
  )
}

function About({ page: { slug, url, single_page, published_at, updated_at, variants } }: { readonly page: Page }) {
  const all = variants.reduce((sum, { weight }) => sum + weight, 0)
  return (
    <>
      <Facts
        of={[
          ["slug", <code key="slug">{slug}</code>],
          ["address", <code key="url">{url}</code>],
          ["published", <Time key="published" value={published_at} />],
          ["changed", <Time key="changed" value={updated_at} />],
          ["several views in one page", single_page ? "yes" : "no"],
        ]}
      />
      <h2>Variants</h2>
      <Table
        label="Variants"
        rows={variants}
        keyOf={({ key }) => key}
        columns={[
          { name: "variant", show: ({ key }) => <code>{key}</code> },
          { name: "share of visitors", isNumber: true, show: ({ weight }) => formatShare(all > 0 ? weight / all : 0) },
        ]}
      />
      {variants.map(({ key, html }) => (
        <details key={key}>
          <summary>HTML of {key}</summary>
          <pre>{visible(html)}</pre>
        </details>
      ))}
    </>
  )
}
