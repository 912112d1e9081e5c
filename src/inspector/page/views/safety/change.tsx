import { Fragment } from 'preact'
import type { NamedChange } from '../../../api/safety.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { TextDiff } from '../../ui/diff.tsx'
import { JsonTree } from '../../ui/json-tree.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { messagesOf, type Suspect } from './suspects.ts'

const KINDS: Readonly<Record<NamedChange['kind'], { readonly name: string; readonly tone: Tone }>> = {
  'tool-changed': { name: 'changed', tone: 'bad' },
  'tool-added': { name: 'new tool', tone: 'info' },
  'tool-removed': { name: 'gone', tone: 'plain' },
  'server-added': { name: 'new server', tone: 'info' },
  'server-removed': { name: 'server gone', tone: 'plain' },
  'command-changed': { name: 'other command', tone: 'bad' },
}

/** Whether only a terminal can approve it: it decides what the machine runs or reaches. */
export function isOfServer({ kind }: NamedChange): boolean {
  return kind === 'server-added' || kind === 'command-changed'
}

/** One change, field by field, with the digest that approves exactly this. */
export function Change({
  change,
  suspect,
  onApprove,
}: {
  readonly change: NamedChange
  /** What the scanner found in the tool as it is now. */
  readonly suspect: Suspect | undefined
  readonly onApprove: ((patterns: readonly string[]) => void) | undefined
}) {
  const { name, tone } = KINDS[change.kind]
  const digest = change.pattern.slice(change.pattern.lastIndexOf('@') + 1)
  const title = 'tool' in change ? `${change.server} · ${change.tool}` : change.server
  return (
    <li class="stack">
      <div class="row spread">
        <span class="row">
          <Badge tone={tone}>{name}</Badge>
          <b class="tool-name">{title}</b>
        </span>
        <span class="row">
          <span class="small muted" title="Names exactly this change: nothing else is approved">
            digest <code>{digest}</code>
          </span>
          {onApprove && !isOfServer(change) && (
            <button
              type="button"
              class={`button small ${suspect ? '' : 'primary'}`}
              aria-label={`Approve ${title}`}
              onClick={() => onApprove([change.pattern])}
            >
              Approve
            </button>
          )}
        </span>
      </div>
      {suspect && (
        <div class="note bad">
          <b>The scanner warns: </b>
          {messagesOf(suspect.findings)}
        </div>
      )}
      <What change={change} />
      {isOfServer(change) && <Copyable text={change.command ?? `toolcrib approve ${change.server}`} />}
    </li>
  )
}

function What({ change }: { readonly change: NamedChange }) {
  if (change.kind === 'tool-added') return <Definition change={change} />
  return change.kind === 'server-added' ? <NewServer change={change} /> : <Fields change={change} />
}

/** A new server has nothing to compare with. */
function NewServer({ change }: { readonly change: NamedChange }) {
  if (!('fields' in change)) return null
  return (
    <dl class="pairs">
      {change.fields.map(({ path, after }) => (
        <Fragment key={path}>
          <dt>{path}</dt>
          <dd>
            <VisibleText text={typeof after === 'string' ? after : JSON.stringify(after)} />
          </dd>
        </Fragment>
      ))}
    </dl>
  )
}

/** The old and the new value of each field. */
function Fields({ change }: { readonly change: NamedChange }) {
  if (!('fields' in change)) return null
  return (
    <>
      {change.fields.map(({ path, before, after }) => (
        <div key={path}>
          <code class="small muted">{path}</code>
          <TextDiff before={textOf(before)} after={textOf(after)} />
        </div>
      ))}
    </>
  )
}

/** A new tool: its description at once, the rest on demand. */
function Definition({ change }: { readonly change: Extract<NamedChange, { kind: 'tool-added' }> }) {
  const { description, ...others } = change.definition
  return (
    <>
      {textOf(description) === '' ? (
        <p class="small muted">It has no description.</p>
      ) : (
        <div class="diff">
          <VisibleText text={textOf(description)} />
        </div>
      )}
      <details>
        <summary class="small muted">The whole definition</summary>
        <JsonTree value={others} />
      </details>
    </>
  )
}

function textOf(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}
