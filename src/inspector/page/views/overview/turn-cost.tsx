import { money, plural, whole } from '../../format.ts'
import { costOf } from '../../prices.ts'
import { linkTo } from '../../router.ts'
import { seriesOf } from '../../ui/bars.tsx'
import { Card } from '../../ui/card.tsx'
import type { OverviewData } from './overview.tsx'

const LISTED = 8

/** One turn with Toolcrib beside one with every tool. */
export function TurnCost({ data: { turn, tools, sources } }: { readonly data: OverviewData }) {
  const most = Math.max(turn.full, turn.lazy, 1)
  const series = seriesOf(sources.map(({ source }) => source))
  const listed = sources.slice(0, LISTED)
  const others = sources.slice(LISTED)
  const rest = others.reduce((sum, { tokens }) => sum + tokens, 0)
  const times = turn.lazy > 0 ? turn.full / turn.lazy : 0
  return (
    <Card
      title="One turn"
      aside={
        times > 1.05 && (
          <span>
            <b>{times < 10 ? times.toFixed(1) : whole(times)} times</b> fewer tokens
          </span>
        )
      }
    >
      <div class="stack">
        <Line name="With Toolcrib" tokens={turn.lazy} most={most} tone="own" />
        <Line name={`With all ${plural(tools, 'tool')}`} tokens={turn.full} most={most} tone="other" />
        {sources.length > 1 && (
          <div>
            <h3 class="muted">Where they come from</h3>
            <div class="meter split" role="img" aria-label="Share of each source">
              {listed.map(({ source, tokens }) => (
                <i
                  key={source}
                  class={`s${series(source)}`}
                  style={{ width: `${(100 * tokens) / most}%` }}
                  title={`${source}: ${whole(tokens)} tokens`}
                />
              ))}
            </div>
            <ul class="legend plain-links">
              {listed.map(({ source, tokens }) => (
                <li key={source}>
                  <i class={`s${series(source)}`} />
                  <a href={linkTo('tools', '', { source })}>{source}</a>{' '}
                  <span class="tabular">{whole(tokens)}</span>
                </li>
              ))}
              {others.length > 0 && (
                <li>
                  <i class="rest" />
                  {plural(others.length, 'other')} <span class="tabular">{whole(rest)}</span>
                </li>
              )}
            </ul>
          </div>
        )}
      </div>
    </Card>
  )
}

function Line({
  name,
  tokens,
  most,
  tone,
}: {
  readonly name: string
  readonly tokens: number
  readonly most: number
  readonly tone: 'own' | 'other'
}) {
  return (
    <div class="measured">
      <div class="row spread">
        <span>{name}</span>
        <span>
          <b>{whole(tokens)}</b> tokens <span class="muted">· {money(costOf(tokens))}</span>
        </span>
      </div>
      <div class="meter">
        <i class={tone} style={{ width: `${(100 * tokens) / most}%` }} />
      </div>
    </div>
  )
}
