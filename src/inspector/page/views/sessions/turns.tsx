import { useState } from 'preact/hooks'
import type { SessionStep } from '../../../record/session-log.ts'
import { tokensOf } from '../../format.ts'
import { Card } from '../../ui/card.tsx'
import { CompareTurns } from './compare-turns.tsx'
import { turnsOf } from './turns-of.ts'

const LABEL = 'small muted tabular'
const HINTS = ['Choose two to compare them.', 'Choose one more.', '']

/** Tokens turn by turn; two turns can be compared. */
export function Turns({ steps }: { readonly steps: readonly SessionStep[] }) {
  const turns = turnsOf(steps)
  const [chosen, setChosen] = useState<readonly number[]>([])
  const most = Math.max(1, ...turns.map(({ tokens }) => tokens))
  const isFlat =
    turns.length > 1 &&
    most === Math.min(...turns.map(({ tokens }) => tokens)) &&
    turns.some(({ names }) => names.length > 0)
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
        {turns.map(({ turn, tokens, isExact }) => (
          <button
            key={turn}
            type="button"
            aria-pressed={chosen.includes(turn)}
            title={`${tokensOf({ tokens, isExact })} tokens in turn ${turn}`}
            onClick={() => toggle(turn)}
          >
            <span class={turns.length <= 12 ? LABEL : 'hidden'}>{tokensOf({ tokens, isExact })}</span>
            <span class="hidden">tokens in turn</span>
            <i style={{ height: `${(100 * tokens) / most}%` }} />
            <span class={turns.length <= 24 ? LABEL : 'hidden'}>{turn}</span>
          </button>
        ))}
      </div>
      {turns.some(({ isExact }) => !isExact) && (
        <p class="small muted below-turns">~ is an estimate: what that turn showed is no longer known.</p>
      )}
      {isFlat && (
        <p class="small muted below-turns">
          Every turn shows the same: definitions reach the model in the answers of searches, so its cache
          stays warm.
        </p>
      )}
      {first && second && <CompareTurns first={first} second={second} />}
    </Card>
  )
}
