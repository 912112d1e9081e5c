import { useEffect, useRef, useState } from 'preact/hooks'
import type { SearchSide } from '../../../api/search.ts'
import { duration, plural } from '../../format.ts'
import { Card, Head } from '../../ui/card.tsx'
import { Empty, Show } from '../../ui/state.tsx'
import { useApi, useChanged } from '../../use-api.ts'
import { AsModel } from './as-model.tsx'
import { Judge } from './judge.tsx'
import { Match } from './match.tsx'
import { Misses } from './misses.tsx'

const TYPING_MS = 180

/** Type, and see what a model would find, and why. */
export function Search({ rest }: { readonly rest: string }) {
  const [typed, setTyped] = useState(rest)
  const [query, setQuery] = useState(rest)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [])
  useChanged(rest, setTyped)
  useEffect(() => {
    const timer = setTimeout(() => setQuery(typed.trim()), TYPING_MS)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <>
      <Head title="Search">Ask as a model would. Each match says which words it was found by.</Head>
      <div class="stack">
        <input
          ref={field}
          type="search"
          class="field large"
          placeholder="What should be done? For example: read a file"
          aria-label="Search for tools"
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        />
        {query === '' ? <Examples onTry={setTyped} /> : <Answer query={query} />}
        <Misses
          onTry={(text) => {
            setTyped(text)
            scrollTo(0, 0)
          }}
        />
      </div>
    </>
  )
}

const EXAMPLES = ['read a file', 'list what is in a folder', 'remember a fact', 'add two numbers']

/** For those who do not know yet what to ask. */
function Examples({ onTry }: { readonly onTry: (text: string) => void }) {
  return (
    <div class="row small">
      <span class="muted">Try</span>
      {EXAMPLES.map((text) => (
        <button key={text} type="button" class="button small" onClick={() => onTry(text)}>
          {text}
        </button>
      ))}
    </div>
  )
}

function Answer({ query }: { readonly query: string }) {
  const loaded = useApi('search', { query })
  return (
    <Show of={loaded}>
      {({ sides }) => (
        <>
          <div class="row expected">
            <span class="muted">Not what you expected?</span>
            <Judge key={query} text={query} onTry={loaded.reload} />
          </div>
          <div class="columns">
            {sides.map((side) => (
              <Side key={side.searcher} side={side} />
            ))}
          </div>
          <AsModel key={query} query={query} />
        </>
      )}
    </Show>
  )
}

const EXPLAINED: Readonly<Record<string, string>> = {
  lexical: 'by words alone',
  hybrid: 'by words and meaning',
  semantic: 'by meaning',
}

function Side({
  side: { searcher, total, durationMs, matches, unmatchedTerms },
}: {
  readonly side: SearchSide
}) {
  const best = matches[0]?.score ?? 1
  return (
    <Card
      title={`${searcher} ${EXPLAINED[searcher] === undefined ? '' : `· ${EXPLAINED[searcher]}`}`}
      aside={
        <span class="small muted">
          {total > matches.length ? `${matches.length} of ${plural(total, 'match')}` : plural(total, 'match')}{' '}
          in {duration(durationMs)}
        </span>
      }
    >
      {unmatchedTerms.length > 0 && (
        <p class="small muted unmatched">
          No tool has {unmatchedTerms.map((term) => `“${term}”`).join(', ')}.
        </p>
      )}
      {matches.length === 0 ? (
        <Empty title="Nothing found">
          Use a word of the tool's name or description, or give the tool a hint.
        </Empty>
      ) : (
        <ol class="list">
          {matches.map((match, index) => (
            <Match key={match.name} match={match} rank={index + 1} best={best} />
          ))}
        </ol>
      )}
    </Card>
  )
}
