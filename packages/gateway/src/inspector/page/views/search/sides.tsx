import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { SearchSide } from '../../../api/search.ts'
import { duration, plural } from '../../format.ts'
import { Card } from '../../ui/card.tsx'
import { Empty } from '../../ui/state.tsx'
import { Match } from './match.tsx'

/** As many as the search tool returns by default. */
const FIRST = 5

const EXPLAINED: Readonly<Record<string, string>> = {
  lexical: 'by words alone',
  hybrid: 'by words and meaning',
  semantic: 'by meaning',
}

/** What each searcher found, side by side. */
export function Sides({
  sides,
  children,
}: {
  readonly sides: readonly SearchSide[]
  /** Shown before the matches, or inside the card when there are none. */
  readonly children: ComponentChildren
}) {
  const [isWhole, setWhole] = useState(false)
  if (sides.every(({ matches }) => matches.length === 0)) return <Nothing sides={sides}>{children}</Nothing>
  const most = Math.max(...sides.map(({ matches }) => matches.length))
  return (
    <>
      {sides[0]?.advice && <Unfitting advice={sides[0].advice} />}
      {children}
      <div class="columns">
        {sides.map((side) => (
          <Side key={side.searcher} side={side} limit={isWhole ? most : FIRST} />
        ))}
      </div>
      {most > FIRST && (
        <div class="row">
          <button type="button" class="button" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
            {isWhole ? `Only the first ${FIRST}` : `Show ${most - FIRST} more`}
          </button>
          <span class="small muted">A model gets the first {FIRST} at most, unless it asks for more.</span>
        </div>
      )}
    </>
  )
}

/** What models are told, without the advice how to ask again, which is for them. */
function Unfitting({ advice }: { readonly advice: string }) {
  const [verdict = '', ...others] = advice.split(/(?<=\.) /)
  const why = others.filter((sentence) => sentence.startsWith('Nothing was found for'))
  return (
    <div class="note warn" role="status">
      <b>{verdict}</b> {why.join(' ')} What follows is the nearest; a model is told that none may do.
    </div>
  )
}

function Side({
  side: { searcher, total, durationMs, matches, isProbable, unmatchedTerms },
  limit,
}: {
  readonly side: SearchSide
  readonly limit: number
}) {
  // A poor match that is the best one must not look perfect.
  const best = isProbable ? undefined : matches[0]?.score
  return (
    <Card
      title={
        <>
          {searcher}{' '}
          {EXPLAINED[searcher] !== undefined && <span class="aside-title">{EXPLAINED[searcher]}</span>}
        </>
      }
      aside={
        <span class="small muted">
          {plural(total, 'match')} in {duration(durationMs)}
        </span>
      }
    >
      {unmatchedTerms.length > 0 && <Unmatched terms={unmatchedTerms} />}
      {matches.length === 0 ? (
        <Empty title="Nothing found">The other searcher found something.</Empty>
      ) : (
        <ol class="list">
          {matches.slice(0, limit).map((match, index) => (
            <Match key={match.name} match={match} rank={index + 1} best={best} />
          ))}
        </ol>
      )}
    </Card>
  )
}

/** Why nothing was found, and the question that fixes it. */
function Nothing({
  sides,
  children,
}: {
  readonly sides: readonly SearchSide[]
  readonly children: ComponentChildren
}) {
  const terms = [...new Set(sides.flatMap(({ unmatchedTerms }) => unmatchedTerms))]
  const searchers = sides.map(({ searcher }) => searcher).join(' and ')
  return (
    <Card title="No tool fits" aside={<span class="small muted">{searchers}</span>}>
      <div class="stack">
        {terms.length > 0 && <Unmatched terms={terms} />}
        <p>
          Names, descriptions and arguments were searched, and no tool is near in meaning. If one of your
          tools does this, choose it: its hint will be found the next time.
        </p>
        {children}
      </div>
    </Card>
  )
}

function Unmatched({ terms }: { readonly terms: readonly string[] }) {
  return <p class="small muted unmatched">No tool has {terms.map((term) => `“${term}”`).join(', ')}.</p>
}
