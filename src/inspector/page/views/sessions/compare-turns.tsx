import { tokensOf } from '../../format.ts'
import { ToolName } from '../../ui/badge.tsx'
import type { TurnSurface } from './turns-of.ts'

/** What came and went between two surfaces. */
export function CompareTurns({
  first,
  second,
}: {
  readonly first: TurnSurface
  readonly second: TurnSurface
}) {
  const come = second.names.filter((name) => !first.names.includes(name))
  const gone = first.names.filter((name) => !second.names.includes(name))
  const kept = second.names.filter((name) => first.names.includes(name))
  const difference = second.tokens - first.tokens
  const isExact = first.isExact && second.isExact
  return (
    <div class="stack compare">
      <p>
        From turn {first.turn} to turn {second.turn}: {difference >= 0 ? '+' : '−'}
        {tokensOf({ tokens: Math.abs(difference), isExact })} tokens, {tokensOf(second)} in all.
      </p>
      <div class="columns narrow">
        <Group title="Checked out" sign="+" names={come} />
        <Group title="Gone" sign="−" names={gone} />
        <Group title="In both" sign=" " names={kept} />
      </div>
    </div>
  )
}

function Group({
  title,
  sign,
  names,
}: {
  readonly title: string
  readonly sign: string
  readonly names: readonly string[]
}) {
  return (
    <div>
      <h3>{title}</h3>
      {names.length === 0 ? (
        <p class="small muted">none</p>
      ) : (
        <ul>
          {names.map((name) => (
            <li key={name}>
              {sign} <ToolName name={name} />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
