import { JsonTree } from '../../ui/json-tree.tsx'
import { schemaRows } from './schema-rows.ts'

/** A schema as a table that people can read, with the schema itself below. */
export function SchemaTable({ schema }: { readonly schema: unknown }) {
  const rows = schemaRows(schema)
  return (
    <div class="stack">
      {rows.length === 0 ? (
        <p class="muted">It takes none.</p>
      ) : (
        <div class="scroll-x">
          <table class="schema">
            <thead>
              <tr>
                <th>Name</th>
                <th>Type</th>
                <th>Meaning</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(({ path, name, depth, type, isRequired, description, constraints }) => (
                <tr key={path}>
                  <td>
                    <code class="deep" style={{ '--depth': depth }}>
                      {name}
                    </code>
                    {isRequired && (
                      <b class="required" title="required">
                        {' '}
                        *
                      </b>
                    )}
                  </td>
                  <td class="small muted">{type}</td>
                  <td class="wrap">
                    {description}
                    {constraints !== '' && <div class="small muted">{constraints}</div>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <details>
        <summary class="small muted">The schema itself</summary>
        <JsonTree value={schema} />
      </details>
    </div>
  )
}
