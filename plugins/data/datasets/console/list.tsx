// The organization's datasets.
import { Answered, Badge, hrefOf, hrefWith, Nothing, OperationDetails, query, SameAs, Table, UntrustedText, useAnswer } from "#console"

const pageSize = 100

export default function Datasets() {
  const offset = Number(query()["offset"] ?? 0)
  const input = { limit: pageSize, offset }
  const listed = useAnswer("datasets.list", input)
  return (
    <>
      <h1>Datasets</h1>
      <Answered of={listed}>
        {({ datasets }) => (
          <>
            {datasets.length === 0 ? (
              <Nothing>Pipelines make the datasets that they write to; one can be made by hand as well.</Nothing>
            ) : (
              <Table
                label="Datasets"
                rows={datasets}
                keyOf={({ id }) => id}
                columns={[
                  {
                    name: "name",
                    show: ({ slug, name }) => (
                      <a href={hrefOf(["datasets", slug])}>
                        <UntrustedText text={name} />
                      </a>
                    ),
                  },
                  { name: "slug", show: ({ slug }) => <code>{slug}</code> },
                  { name: "holds", show: (one) => one.class },
                  { name: "purpose", show: ({ purpose }) => purpose.replaceAll("_", " ") },
                  { name: "status", show: ({ status }) => <Badge tone={status === "active" ? "good" : "plain"}>{status}</Badge> },
                  {
                    name: "about",
                    show: ({ description, warnings }) => <UntrustedText text={[description, ...warnings].filter(Boolean).join(" ")} />,
                  },
                ]}
              />
            )}
            <p>
              {offset > 0 && <a href={hrefWith({ offset: String(Math.max(0, offset - pageSize)) })}>Previous page</a>}{" "}
              {datasets.length === pageSize && <a href={hrefWith({ offset: String(offset + pageSize) })}>Next page</a>}
            </p>
          </>
        )}
      </Answered>
      <OperationDetails title="Make a dataset" name="datasets.create" onDone={listed.reload} />
      <SameAs name="datasets.list" input={input} />
    </>
  )
}
