import type { SessionTurn } from '../../../record/session-record.ts'
import { tokensOf } from '../../format.ts'
import { NameList } from '../../ui/name-list.tsx'

/** Everything the model read of tools in a turn. */
export function wholeOf({ tokens, inAnswers, isExact = false }: SessionTurn) {
  return { tokens: tokens + inAnswers, isExact }
}

/** What changed between two turns. */
export function CompareTurns({
  first,
  second,
}: {
  readonly first: SessionTurn
  readonly second: SessionTurn
}) {
  const come = second.names.filter((name) => !first.names.includes(name))
  const gone = first.names.filter((name) => !second.names.includes(name))
  const kept = second.names.filter((name) => first.names.includes(name))
  const [before, after] = [wholeOf(first), wholeOf(second)]
  const difference = after.tokens - before.tokens
  const isExact = before.isExact && after.isExact
  return (
    <div class="stack compare">
      <p>
        From turn {first.turn} to turn {second.turn}: {difference >= 0 ? '+' : '−'}
        {tokensOf({ tokens: Math.abs(difference), isExact })} tokens, {tokensOf(after)} in all.
      </p>
      <div class="columns narrow">
        <NameList title="Checked out" sign="+" names={come} none="none" />
        <NameList title="Gone" sign="−" names={gone} none="none" />
        <NameList title="In both" names={kept} none="none" />
      </div>
    </div>
  )
}
