import { useState } from 'preact/hooks'
import type { SessionTurn } from '../../../record/session-record.ts'
import { tokensOf } from '../../format.ts'
import { Legend } from '../../ui/bars.tsx'
import { Card } from '../../ui/card.tsx'
import { CompareTurns, wholeOf } from './compare-turns.tsx'

const LABEL = 'small muted tabular'
const HINTS = ['Choose two to compare them.', 'Choose one more.', '']
const PARTS = [
  { series: 0, name: 'tools shown' },
  { series: 2, name: 'definitions in answers of searches' },
]

/** Tokens turn by turn; two turns can be compared. */
export function Turns({ turns }: { readonly turns: readonly SessionTurn[] }) {
  const [chosen, setChosen] = useState<readonly number[]>([])
  const most = Math.max(1, ...turns.map((turn) => wholeOf(turn).tokens))
  const hasAnswers = turns.some(({ inAnswers }) => inAnswers > 0)
  const isFlat = new Set(turns.map(({ fingerprint }) => fingerprint)).size === 1
  const toggle = (turn: number) =>
    setChosen((before) =>
      before.includes(turn) ? before.filter((each) => each !== turn) : [...before, turn].slice(-2),
    )
  if (turns.length === 0) return null
  const [first, second] = [...chosen]
    .sort((one, other) => one - other)
    .map((turn) => turns.find((each) => each.turn === turn))
  return (
    <Card title="Tokens per turn" aside={<span class="small muted">{HINTS[chosen.length]}</span>}>
      <div class="turns">
        {turns.map((each) => (
          <button
            key={each.turn}
            type="button"
            aria-pressed={chosen.includes(each.turn)}
            title={`${tokensOf(wholeOf(each))} tokens in turn ${each.turn}`}
            onClick={() => toggle(each.turn)}
          >
            <span class={turns.length <= 12 ? LABEL : 'hidden'}>{tokensOf(wholeOf(each))}</span>
            <span class="hidden">tokens in turn</span>
            <span class="turn-bar" style={{ '--share': wholeOf(each).tokens / most }}>
              <i class="s2" style={{ flexGrow: each.inAnswers }} />
              <i class="s0" style={{ flexGrow: each.tokens }} />
            </span>
            <span class={turns.length <= 24 ? LABEL : 'hidden'}>{each.turn}</span>
          </button>
        ))}
      </div>
      {hasAnswers && (
        <div class="below-turns">
          <Legend entries={PARTS} />
        </div>
      )}
      {hasAnswers && isFlat && (
        <p class="small muted below-turns">
          Every turn shows the same tools, so the prompt cache stays warm. What a search returns stays in the
          conversation.
        </p>
      )}
      {turns.some(({ isExact }) => !isExact) && (
        <p class="small muted below-turns">
          ~ is an estimate: the exact tools of that turn are no longer known.
        </p>
      )}
      {first && second && <CompareTurns first={first} second={second} />}
    </Card>
  )
}
