import { Fragment } from 'preact'
import type { Input } from '../../../api/routes.ts'
import type { NamedChange } from '../../../api/safety.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { TextDiff } from '../../ui/diff.tsx'
import { JsonTree } from '../../ui/json-tree.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { messagesOf, type Suspect } from './suspects.ts'

const SERVER_KINDS: Readonly<Record<string, { readonly name: string; readonly tone: Tone }>> = {
  'server-added': { name: 'new server, not approved', tone: 'warn' },
  'server-removed': { name: 'server gone', tone: 'plain' },
  'command-changed': { name: 'other command', tone: 'bad' },
}

function describeKind(kind: NamedChange['kind']): { readonly name: string; readonly tone: Tone } {
  const known = SERVER_KINDS[kind]
  if (known) return known
  const [what = '', how = ''] = kind.split('-')
  if (how === 'added') return { name: `new ${what}, not approved`, tone: 'warn' }
  const of = what === 'tool' ? '' : `${what} `
  return how === 'removed' ? { name: `${of}gone`, tone: 'plain' } : { name: `${of}changed`, tone: 'bad' }
}

/** Whether only a terminal can approve it: it decides what the machine runs or reaches. */
export function isOfServer({ kind }: NamedChange): boolean {
  return kind === 'server-added' || kind === 'command-changed'
}

/** What a person can decide about a change. */
export interface Verdicts {
  readonly approve: (patterns: readonly string[]) => void
  /** Keeps it in quarantine, and does not ask again. */
  readonly reject: (change: NamedChange) => void
  /** Shows what the config would say, and writes it when confirmed. */
  readonly edit: (edit: Partial<Input<'change-config'>>) => void
}

/** One change, field by field, with what can be decided: the digest names exactly this change. */
export function Change({
  change,
  suspect,
  verdicts,
}: {
  readonly change: NamedChange
  /** What the scanner found in the tool as it is now. */
  readonly suspect: Suspect | undefined
  /** Undefined where nothing can be written. */
  readonly verdicts: Verdicts | undefined
}) {
  const { name, tone } = describeKind(change.kind)
  const digest = change.pattern.slice(change.pattern.lastIndexOf('@') + 1)
  const title = titleOf(change)
  return (
    <li class="stack">
      <div class="row spread">
        <span class="row">
          <Badge tone={tone}>{name}</Badge>
          <b class="tool-name">{title}</b>
        </span>
        <span class="small muted" title="Names exactly this change: nothing else is approved">
          digest <code>{digest}</code>
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
      {verdicts && <Decide change={change} isSuspect={suspect !== undefined} verdicts={verdicts} />}
    </li>
  )
}

/** Below the change, so that it is read first. */
function Decide({
  change,
  isSuspect,
  verdicts: { approve, reject, edit },
}: {
  readonly change: NamedChange
  readonly isSuspect: boolean
  readonly verdicts: Verdicts
}) {
  const title = titleOf(change)
  const { server } = change
  const isGone = change.kind.endsWith('-removed')
  return (
    <div class="row">
      {!isOfServer(change) && (
        <button
          type="button"
          class={`button small ${isSuspect ? '' : 'primary'}`}
          aria-label={`Approve ${title}`}
          onClick={() => approve([change.pattern])}
        >
          Approve
        </button>
      )}
      <button
        type="button"
        class={`button small ${isSuspect ? 'danger' : ''}`}
        aria-label={`Reject ${title}`}
        title="It stays held back, and you are not asked again until it changes again"
        onClick={() => reject(change)}
      >
        Reject
      </button>
      {'tool' in change && !isGone && (
        <button
          type="button"
          class="button small"
          aria-label={`Hide the tool ${title}`}
          title="Adds it to deny in your config"
          onClick={() => edit({ kind: 'hide', server, tool: change.tool })}
        >
          Hide the tool
        </button>
      )}
      {change.kind !== 'server-removed' && (
        <button
          type="button"
          class="button small"
          aria-label={`Disable the server ${server}, because of ${title}`}
          title={`Stops ${server} and removes all its tools`}
          onClick={() => edit({ kind: 'disable', server })}
        >
          Disable the server
        </button>
      )}
    </div>
  )
}

/** `weather · get_rain` */
export function titleOf(change: NamedChange): string {
  return [change.server, ...('tool' in change ? [change.tool] : []), ...itemTitle(change)].join(' · ')
}

function itemTitle(change: NamedChange): string[] {
  return 'item' in change && change.list !== 'instructions' ? [change.item] : []
}

function What({ change }: { readonly change: NamedChange }) {
  if ('definition' in change) return <Definition definition={change.definition} />
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

/** Something new: its description at once, the rest on demand. */
function Definition({ definition }: { readonly definition: object }) {
  const { description, text, ...others }: Readonly<Record<string, unknown>> = { ...definition }
  const words = textOf(text ?? description)
  return (
    <>
      {words === '' ? (
        <p class="small muted">It has no description.</p>
      ) : (
        <div class="diff">
          <VisibleText text={words} />
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
