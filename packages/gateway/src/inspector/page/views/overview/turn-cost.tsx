import type { Output } from '../../../api/routes.ts'
import { money, plural, whole } from '../../format.ts'
import { costOf } from '../../prices.ts'
import { Card } from '../../ui/card.tsx'
import { TokenShares } from '../../ui/token-shares.tsx'

/** One turn with Toolcrib beside one with every tool. */
export function TurnCost({ data: { turn, tools, sources } }: { readonly data: Output<'overview'> }) {
  const most = Math.max(turn.full, turn.lazy, 1)
  const times = turn.lazy > 0 ? turn.full / turn.lazy : 0
  return (
    <Card
      title="One turn"
      aside={
        times > 1.05 &&
        // No client has all of them.
        !turn.isDivided && (
          <span>
            <b>{times < 10 ? times.toFixed(1) : whole(times)} times</b> fewer tokens
          </span>
        )
      }
    >
      <div class="stack">
        <Line name="With Toolcrib" tokens={turn.lazy} most={most} tone="own" />
        <Line
          name={`With all ${plural(tools, 'tool')}${turn.isDivided ? ', of which each client has a part' : ''}`}
          tokens={turn.full}
          most={most}
          tone="other"
        />
        {sources.length > 1 && (
          <div>
            <h3 class="muted">Where they come from</h3>
            <TokenShares sources={sources} most={most} />
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
