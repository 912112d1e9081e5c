import type { SessionStep } from '../../../record/session-record.ts'
import { clock, duration, plural, tokensOf, whole } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { Badge, ToolName } from '../../ui/badge.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { Empty } from '../../ui/state.tsx'
import { LongText } from '../../ui/visible-text.tsx'
import { foldSteps, type TimelineLine } from './fold-steps.ts'

/** What happened in a session: the latest turn first, and each turn in the order of its steps. */
export function Timeline({ steps }: { readonly steps: readonly SessionStep[] }) {
  if (steps.length === 0) return <Empty title="Nothing happened yet" />
  return (
    <ol class="stack">
      {groupsOf(foldSteps(steps)).map(({ turn, lines }) => (
        <li key={turn}>
          <div class="row spread turn-head">
            <h3>{turn === 0 ? 'Before the first turn' : `Turn ${turn}`}</h3>
            <span class="small muted tabular">{clock(lines[0]?.step.at ?? 0)}</span>
          </div>
          <ol class="timeline">
            {lines.map(({ step, index, isMiss }) => (
              <li key={index} class={classOf(step, isMiss)}>
                <span class="wrap">
                  <Step step={step} isMiss={isMiss} growth={growthAfter(steps, index)} />
                </span>
              </li>
            ))}
          </ol>
        </li>
      ))}
    </ol>
  )
}

interface Group {
  readonly turn: number
  readonly lines: TimelineLine[]
}

function groupsOf(lines: readonly TimelineLine[]): readonly Group[] {
  const groups: Group[] = []
  for (const line of lines) {
    const last = groups.at(-1)
    if (last?.turn === line.step.turn) last.lines.push(line)
    else groups.push({ turn: line.step.turn, lines: [line] })
  }
  return groups.reverse()
}

function Step({
  step,
  isMiss,
  growth,
}: {
  readonly step: SessionStep
  readonly isMiss: boolean
  /** Undefined while no surface followed. */
  readonly growth: number | undefined
}) {
  const { kind, text, names = [], ok, durationMs, deferred } = step
  switch (kind) {
    case 'opened':
      return <>Opened {text && `· ${text}`}</>
    case 'surface':
      return (
        <>
          <b>Shown {text}</b> in {tokensOf(step)} tokens{' '}
          <span class="muted">{deferred ? `· ${whole(deferred)} deferred` : ''}</span>
        </>
      )
    case 'search':
      return (
        <>
          Searched <a href={linkTo('search', text)}>“{text}”</a>{' '}
          {isMiss ? (
            <Badge tone="warn">nothing found</Badge>
          ) : (
            <span class="muted">· {plural(names.length, 'match')}</span>
          )}{' '}
          {durationMs !== undefined && <span class="muted">· {duration(durationMs)}</span>}
        </>
      )
    case 'miss':
      return (
        <>
          <Badge tone="warn">miss</Badge> <a href={linkTo('search', text)}>“{text}”</a>
        </>
      )
    case 'activated':
      return (
        <>
          Checked out <Names names={names} /> <span class="muted">· {weightOf(step, growth)}</span>
        </>
      )
    case 'reached':
      return (
        <>
          Checked out <Names names={names} /> <span class="muted">· by the call</span>
        </>
      )
    case 'evicted':
    case 'returned':
      return (
        <>
          {kind === 'evicted' ? 'Evicted' : 'Gave back'} <Names names={names} />{' '}
          <span class="muted">
            · {growth === 0 ? 'the surface stays as it is' : `−${tokensOf(step)} tokens`}
          </span>
        </>
      )
    case 'call':
      return (
        <>
          Called <Names names={names} /> <span class="muted">· {duration(durationMs ?? 0)}</span>{' '}
          {ok === false && <Badge tone="bad">{text || 'failed'}</Badge>}
        </>
      )
    case 'script':
    case 'script-ended':
      return <ScriptText step={step} />
    case 'waiting':
      return (
        <>
          <Badge tone="warn">waits for a person</Badge> <Names names={names} />
        </>
      )
    case 'decided':
      return <>Decided: {text}</>
    case 'trimmed':
      return (
        <>
          Shortened a result of <Names names={names} /> <span class="muted">{text}</span>
        </>
      )
    default:
      return <Badge tone="warn">{text}</Badge>
  }
}

function classOf({ kind, ok, inScript }: SessionStep, isMiss: boolean): string {
  const what = ok === false ? 'failed' : isMiss ? 'miss' : kind
  return inScript === undefined ? what : `${what} inner`
}

/** The source of a script, or its answer. */
function ScriptText({ step: { kind, text, ok, run = '' } }: { readonly step: SessionStep }) {
  return (
    <>
      {kind === 'script' ? 'Ran a script' : 'It ended'} {ok === false && <Badge tone="bad">failed</Badge>}{' '}
      <span class="muted">· run {run.slice(0, 8)}</span>
      <details open={kind === 'script-ended'}>
        <summary>{kind === 'script' ? 'Source' : 'Answer'}</summary>
        <LongText text={text} />
        {kind === 'script' && <Copyable text={`toolcrib script replay ${run}`} />}
      </details>
    </>
  )
}

/** How much larger the next surface is than the one before a step. */
function growthAfter(steps: readonly SessionStep[], index: number): number | undefined {
  const isSurface = ({ kind }: SessionStep) => kind === 'surface'
  const before = steps.slice(0, index).findLast(isSurface)
  const after = steps.slice(index + 1).find(isSurface)
  if (before?.tokens === undefined || after?.tokens === undefined) return undefined
  return before.fingerprint === after.fingerprint ? 0 : after.tokens - before.tokens
}

/** With some strategies a surface stays as it is, and a search sends definitions in its answer. */
function weightOf(step: SessionStep, growth: number | undefined): string {
  if (growth === undefined) return `definitions of ${tokensOf(step)} tokens`
  // A surface may show tools under other names, which take a little more or less.
  if (2 * growth >= (step.tokens ?? 0)) return `+${tokensOf(step)} tokens`
  return `definitions of ${tokensOf(step)} tokens, in the answer`
}

function Names({ names }: { readonly names: readonly string[] }) {
  return (
    <>
      {names.map((name, index) => (
        <span key={name}>
          {index > 0 && ', '}
          <a class="whole-name" href={linkTo('tools', name)}>
            <ToolName name={name} />
          </a>
        </span>
      ))}
    </>
  )
}
