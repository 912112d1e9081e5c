import type { Output } from '../../../api/routes.ts'
import { about, dayOf, money, plural, toolCalls, whole } from '../../format.ts'
import { choosePrice, costOf, PRICES, price } from '../../prices.ts'
import { Card } from '../../ui/card.tsx'
import { Figure } from '../../ui/figure.tsx'

/** Tokens that models did not have to read, today and in total. */
export function Savings({ data: { today, total, since } }: { readonly data: Output<'overview'> }) {
  return (
    <Card label="Savings">
      <div class="figures">
        <Figure
          value={about(today.saved)}
          name="tokens saved today"
          note={`~${money(costOf(today.saved))} in ${plural(today.turns, 'turn')}`}
        />
        <Figure
          value={about(total.saved)}
          name={`tokens saved since ${dayOf(since)}`}
          note={`~${money(costOf(total.saved))} in ${plural(total.turns, 'turn')}`}
        />
        <Figure value={whole(today.searches)} name="searches today" note={searchNote(today)} />
        <Figure
          value={whole(toolCalls(today))}
          name="tool calls today"
          note={today.errors === 0 ? 'none failed' : `${whole(today.errors)} failed`}
        />
      </div>
      <PriceChoice />
    </Card>
  )
}

function searchNote({ searches, misses }: Output<'overview'>['today']): string {
  if (misses > 0) return `${whole(misses)} found nothing`
  return searches === 0 ? 'no searches yet' : 'each had a match'
}

function PriceChoice() {
  const known = PRICES.find(({ dollars }) => dollars === price.value)
  return (
    <div class="row small muted price-choice">
      <span>Priced as</span>
      <select
        class="field"
        aria-label="Model for prices"
        value={known?.model ?? 'own'}
        onChange={({ currentTarget }) => {
          const chosen = PRICES.find(({ model }) => model === currentTarget.value)
          choosePrice(chosen?.dollars ?? 1)
        }}
      >
        {PRICES.map(({ model, dollars }) => (
          <option key={model} value={model}>
            {model}, ${dollars} per million
          </option>
        ))}
        <option value="own">another price</option>
      </select>
      {!known && (
        <input
          class="field price"
          type="number"
          min="0"
          step="0.1"
          aria-label="Dollars per million tokens"
          value={price.value}
          onChange={({ currentTarget }) => choosePrice(Number(currentTarget.value))}
        />
      )}
      <span>
        Uncached input. ~ is an estimate, of turns of your clients alone: what each would have sent without
        Toolcrib, less what its model read instead. Scripts, the tour and our own commands do not count.
      </span>
    </div>
  )
}
