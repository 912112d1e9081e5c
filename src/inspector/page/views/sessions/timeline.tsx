import type { SessionStep } from '../../../record/session-log.ts'
import { clock, duration, plural, whole } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { Badge, ToolName } from '../../ui/badge.tsx'
import { Empty } from '../../ui/state.tsx'
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
              <li key={index} class={step.ok === false ? 'failed' : isMiss ? 'miss' : step.kind}>
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
  step: { kind, text, names = [], tokens = 0, ok, durationMs, deferred },
  isMiss,
  growth,
}: {
  readonly step: SessionStep
  readonly isMiss: boolean
  /** Undefined while no surface followed. */
  readonly growth: number | undefined
}) {
  switch (kind) {
    case 'opened':
      return <>Opened {text && `· ${text}`}</>
    case 'surface':
      return (
        <>
          <b>Shown {text}</b> in {whole(tokens)} tokens{' '}
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
          Checked out <Names names={names} /> <span class="muted">· {weightOf(tokens, growth)}</span>
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
            · {growth === 0 ? 'the surface stays as it is' : `−${whole(tokens)} tokens`}
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

/** How much larger the next surface is than the one before a step. */
function growthAfter(steps: readonly SessionStep[], index: number): number | undefined {
  const isSurface = ({ kind }: SessionStep) => kind === 'surface'
  const before = steps.slice(0, index).findLast(isSurface)?.tokens
  const after = steps.slice(index + 1).find(isSurface)?.tokens
  return before === undefined || after === undefined ? undefined : after - before
}

/** With some strategies a surface stays as it is, and a search sends definitions in its answer. */
function weightOf(tokens: number, growth: number | undefined): string {
  if (growth === undefined) return `definitions of ${whole(tokens)} tokens`
  if (growth >= tokens) return `+${whole(tokens)} tokens`
  return `definitions of ${whole(tokens)} tokens, in the answer`
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
